/* OpenSHMEM 1.4: collectives over active sets. */
#include "implementation.h"
#include <shmem.h>

static long sync_words[2][_SHMEM_REDUCE_SYNC_SIZE + _SHMEM_COLLECT_SYNC_SIZE +
                          _SHMEM_BCAST_SYNC_SIZE + _SHMEM_ALLTOALL_SYNC_SIZE];
static double work[2][LARGEST / sizeof(double) / 2 + 1 + _SHMEM_REDUCE_MIN_WRKDATA_SIZE];

/* Calls alternate between two arrays, which the standard requires without a barrier between
 * them. */
#define TURN() (turn ^= 1)
#define WORLD 0, 0, pes

static int turn;

static void barrier(size_t n) { (void)n; shmem_barrier_all(); }

static void sum(size_t n)
{
    TURN();
    shmem_double_sum_to_all(dest, source, (int)n, WORLD, work[turn], sync_words[turn]);
}

static void sum_in_place(size_t n)
{
    TURN();
    shmem_double_sum_to_all(dest, dest, (int)n, WORLD, work[turn], sync_words[turn]);
}

static void broadcast(size_t n) { shmem_broadcast64(dest, source, n, 0, WORLD, sync_words[TURN()]); }
static void fcollect(size_t n) { shmem_fcollect64(dest, source, n, WORLD, sync_words[TURN()]); }
static void collect(size_t n) { shmem_collect64(dest, source, n, WORLD, sync_words[TURN()]); }
static void alltoall(size_t n) { shmem_alltoall64(dest, source, n, WORLD, sync_words[TURN()]); }

static void put(size_t n)
{
    if (me == 0) {
        shmem_double_put(dest, source, n, 1);
        shmem_quiet();
    }
}

/* This version of the standard has no put with signal. */
static void put_signal(size_t n)
{
    static long sig, messages;
    for (int turn = 0; turn < 2; turn++) {
        messages++;
        if (turn == me) {
            shmem_double_put(dest, source, n, 1 - me);
            shmem_fence();
            shmem_long_p(&sig, messages, 1 - me);
        } else {
            shmem_long_wait_until(&sig, SHMEM_CMP_GE, messages);
        }
    }
}

#include "isx.h"

static const struct operation operations[] = {
    OPERATIONS_OF_ALL,
    TRANSFERS_OF_ALL,
    {NULL, NULL, NOTHING, 0},
};

static void begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    for (int which = 0; which < 2; which++)
        for (size_t i = 0; i < sizeof sync_words[which] / sizeof *sync_words[which]; i++)
            sync_words[which][i] = _SHMEM_SYNC_VALUE;
    shmem_barrier_all();
}

static void *memory(size_t bytes) { return shmem_align(4096, bytes); }
static void end(void) { shmem_finalize(); }
