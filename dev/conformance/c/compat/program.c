/* Compiled by the wrapper of another OpenSHMEM library, and run on this one: what differs between their headers, as far
 * as OpenSHMEM 1.4 has it. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "PE %d: %s:%d: %s\n", me, __FILE__, __LINE__, #condition);       \
            shmem_global_exit(1);                                                            \
        }                                                                                    \
    } while (0)

/* As long as the header says, and of its initial value. */
static long reduce_sync[2][SHMEM_REDUCE_SYNC_SIZE], guard = 7, barrier_sync[SHMEM_BARRIER_SYNC_SIZE], guard_2 = 8;
static long bcast_sync[SHMEM_BCAST_SYNC_SIZE], collect_sync[SHMEM_COLLECT_SYNC_SIZE];
static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 4], source, sum;
static long flag, counter;
static long word[64], words[64 * 64];

static void set(long *array, int n)
{
    for (int i = 0; i < n; i++) {
        array[i] = SHMEM_SYNC_VALUE;
    }
}

static int is_set(const long *array, int n)
{
    for (int i = 0; i < n; i++) {
        if (array[i] != SHMEM_SYNC_VALUE) {
            return 0;
        }
    }
    return 1;
}

#ifdef CALLS_ANOTHER
void shmemx_of_another(void);
#else
static void shmemx_of_another(void) {}
#endif

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided);
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    CHECK(provided >= SHMEM_THREAD_SERIALIZED);

    /* Comparisons: each is false and true once. */
    flag = 5;
    CHECK(shmem_long_test(&flag, SHMEM_CMP_EQ, 5) && !shmem_long_test(&flag, SHMEM_CMP_EQ, 4));
    CHECK(shmem_long_test(&flag, SHMEM_CMP_NE, 4) && !shmem_long_test(&flag, SHMEM_CMP_NE, 5));
    CHECK(shmem_long_test(&flag, SHMEM_CMP_GT, 4) && !shmem_long_test(&flag, SHMEM_CMP_GT, 5));
    CHECK(shmem_long_test(&flag, SHMEM_CMP_GE, 5) && !shmem_long_test(&flag, SHMEM_CMP_GE, 6));
    CHECK(shmem_long_test(&flag, SHMEM_CMP_LT, 6) && !shmem_long_test(&flag, SHMEM_CMP_LT, 5));
    CHECK(shmem_long_test(&flag, SHMEM_CMP_LE, 5) && !shmem_long_test(&flag, SHMEM_CMP_LE, 4));
    shmem_barrier_all();
    shmem_long_p(&flag, 9, next);
    shmem_long_wait_until(&flag, SHMEM_CMP_GE, 9);

    /* Handles and options. */
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
    shmem_ctx_long_atomic_add(ctx, &counter, 2, next);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    shmem_ctx_long_atomic_add(SHMEM_CTX_DEFAULT, &counter, 1, next);
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    shmem_barrier_all();
    CHECK(counter == 3);
    CHECK(shmem_long_atomic_compare_swap(&counter, 3, 4, me) == 3);

    /* Work arrays: of all PEs, of the even ones, of the odd ones, of the last ones. */
    set(reduce_sync[0], SHMEM_REDUCE_SYNC_SIZE);
    set(reduce_sync[1], SHMEM_REDUCE_SYNC_SIZE);
    set(barrier_sync, SHMEM_BARRIER_SYNC_SIZE);
    set(bcast_sync, SHMEM_BCAST_SYNC_SIZE);
    set(collect_sync, SHMEM_COLLECT_SYNC_SIZE);
    shmem_barrier_all();
    for (int round = 0; round < 20; round++) {
        int first = me % 2, half = (n + 1 - first) / 2, expected = 0;
        source = me + round;
        shmem_int_sum_to_all(&sum, &source, 1, 0, 0, n, work, reduce_sync[round % 2]);
        CHECK(sum == n * (n - 1) / 2 + n * round);
        shmem_barrier(0, 0, n, barrier_sync);
        shmem_int_sum_to_all(&sum, &source, 1, first, 1, half, work, reduce_sync[round % 2]);
        for (int pe = first; pe < n; pe += 2) {
            expected += pe + round;
        }
        CHECK(sum == expected);
        if (me >= n / 2) {
            word[0] = 1000 * round + me;
            shmem_fcollect64(words, word, 1, n / 2, 0, n - n / 2, collect_sync);
            for (int pe = n / 2; pe < n; pe++) {
                CHECK(words[pe - n / 2] == 1000 * round + pe);
            }
        }
        shmem_barrier_all();
    }
    /* Sets that overlap, used for the first time while the first of them waits for its first PE. */
    for (int first = 0; first + 1 < n; first++) {
        if (me == first || me == first + 1) {
            if (me == 0) {
                usleep(50000);
            }
            source = 10 * me;
            shmem_int_sum_to_all(&sum, &source, 1, first, 0, 2, work, reduce_sync[first % 2]);
            CHECK(sum == 10 * (2 * first + 1));
        }
    }
    shmem_barrier_all();
    word[0] = me == 0 ? 77 : 0;
    words[0] = 0;
    shmem_broadcast64(words, word, 1, 0, 0, 0, n, bcast_sync);
    CHECK(me == 0 || words[0] == 77);
    shmem_barrier_all();
    CHECK(is_set(reduce_sync[0], SHMEM_REDUCE_SYNC_SIZE) && is_set(barrier_sync, SHMEM_BARRIER_SYNC_SIZE));
    CHECK(is_set(bcast_sync, SHMEM_BCAST_SYNC_SIZE) && is_set(collect_sync, SHMEM_COLLECT_SYNC_SIZE));
    CHECK(guard == 7 && guard_2 == 8);

    long *heap = shmem_malloc(sizeof *heap);
    *heap = me;
    shmem_barrier_all();
    CHECK(shmem_long_g(heap, next) == next);
    shmem_free(heap);
    shmemx_of_another();
    shmem_finalize();
    return 0;
}
