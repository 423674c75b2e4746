/* shmem_ptr and shmem_team_ptr: direct loads and stores on heap and globals of the PEs of a node,
 * NULL for those of other nodes and for what is not symmetric, and the same address for one's own. */
#include "neighbours.h"

static int global_words[1000];
static double in_data[3] = {1.0, 2.0, 3.0};

int main(void)
{
    shmem_init();
    static int in_function[64];
    int me = shmem_my_pe(), n = shmem_n_pes(), on_stack = 0;
    int *heap = checked_malloc(1000 * sizeof *heap);
    int *private_heap = malloc(sizeof *private_heap);
    REQUIRE(n <= 64);
    for (int i = 0; i < 1000; i++)
        heap[i] = global_words[i] = me * 1000 + i;
    find_neighbours();
    for (int pe = 0; pe < n; pe++) {
        CHECK(shmem_ptr(&on_stack, pe) == NULL);
        CHECK(shmem_ptr(private_heap, pe) == NULL);
        CHECK(shmem_ptr(NULL, pe) == NULL);
        CHECK(shmem_ptr((void *)(uintptr_t)&main, pe) == NULL, "code is not symmetric");
        CHECK(shmem_addr_accessible(heap, pe) == 1);
        CHECK(shmem_addr_accessible(&heap[999], pe) == 1);
        CHECK(shmem_addr_accessible(&on_stack, pe) == 0);
        if (!is_near(pe)) {
            CHECK(shmem_ptr(heap, pe) == NULL && shmem_ptr(global_words, pe) == NULL, "PE %d", pe);
            CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, pe) == NULL, "PE %d", pe);
            shmem_int_p(&in_function[me], pe * 100 + me, pe);
            continue;
        }
        int *his_heap = shmem_ptr(heap, pe), *his_global = shmem_ptr(global_words, pe);
        double *his_data = shmem_ptr(&in_data[1], pe);
        REQUIRE(his_heap != NULL && his_global != NULL && his_data != NULL, "PE %d", pe);
        CHECK((his_heap == heap) == (pe == me));
        CHECK((his_global == global_words) == (pe == me));
        CHECK(*his_data == 2.0 && his_data[1] == 3.0);
        for (int i = 0; i < 1000; i += 37) {
            CHECK(his_heap[i] == pe * 1000 + i, "PE %d element %d: %d", pe, i, his_heap[i]);
            CHECK(his_global[i] == pe * 1000 + i, "PE %d element %d: %d", pe, i, his_global[i]);
        }
        /* Into the middle and to the last byte. */
        CHECK(shmem_ptr(&heap[500], pe) == his_heap + 500);
        CHECK(shmem_ptr((char *)&global_words[1000] - 1, pe) == (char *)(his_global + 1000) - 1);
        CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, pe) == his_heap);
        int *his_slot = shmem_ptr(&in_function[me], pe);
        REQUIRE(his_slot != NULL);
        *his_slot = pe * 100 + me;
    }
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        CHECK(in_function[pe] == me * 100 + pe, "store of PE %d: %d", pe, in_function[pe]);
    /* Both ways between pairs, by plain stores and a barrier. */
    int partner = n - 1 - me;
    int *theirs = shmem_ptr(heap, partner);
    for (int i = 0; i < 1000; i++)
        if (is_near(partner))
            theirs[i] = -me - i;
        else
            shmem_int_p(&heap[i], -me - i, partner);
    shmem_barrier_all();
    for (int i = 0; i < 1000; i++)
        CHECK(heap[i] == -partner - i, "element %d: %d", i, heap[i]);

    shmem_team_t reversed;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reversed);
    for (int pe = 0; pe < n; pe++)
        CHECK(shmem_team_ptr(reversed, global_words, pe) == shmem_ptr(global_words, n - 1 - pe));
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, heap, 0) == NULL);
    shmem_team_destroy(reversed);
    shmem_barrier_all();
    shmem_free(heap);
    free(private_heap);
    return finish();
}
