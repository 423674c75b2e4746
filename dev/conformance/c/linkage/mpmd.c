/* Two executables in one job (compiled with ROLE 0 and 1, the latter SHIFTED or not): the heap is symmetric between all
 * PEs, globals only between those of one executable. PE 0 and PE 1 run role 0, the others role 1. */
#include "check.h"

#ifdef SHIFTED
static char shifts_what_follows[12345] = {1};
#endif
/* In data, so that both have the same segments. */
static volatile int role_and_1 = ROLE + 1;
static int word = 10 + ROLE;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), role = role_and_1 - 1;
    CHECK((me >= 2) == role);
#ifdef SHIFTED
    CHECK(shifts_what_follows[0] == 1);
#endif
    int *heap = checked_malloc(64 * sizeof *heap);
    REQUIRE(n <= 64);
    for (int pe = 0; pe < n; pe++) {
        int same = (pe >= 2) == role;
        CHECK(shmem_addr_accessible(heap, pe) == 1);
        CHECK(shmem_addr_accessible(&word, pe) == same, "PE %d", pe);
        CHECK((shmem_ptr(&word, pe) != NULL) == same, "PE %d", pe);
        CHECK(shmem_ptr(heap, pe) != NULL);
        shmem_int_p(&heap[me], me * 3 + role, pe);
        if (same)
            CHECK(shmem_int_g(&word, pe) == 10 + role);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        CHECK(heap[pe] == pe * 3 + (pe >= 2), "PE %d wrote %d", pe, heap[pe]);
    shmem_barrier_all();
    shmem_free(heap);
    return finish();
}
