/* Collectives over all PEs of OpenSHMEM 1.4: on the active set of all PEs, with work arrays of the
 * program.
 *
 * An array may be used again when all PEs have left the call that used it before. After n calls
 * in a row, a PE has received data that every other PE sent in a later call than the first of
 * them, even in broadcasts, whose root changes from call to call (collective_data.h): n + 1
 * arrays in turn are enough. A reduction receives data of all PEs: two work arrays are enough. */
#ifndef CALLS_ACTIVE_SETS_H
#define CALLS_ACTIVE_SETS_H

#include <shmem.h>

#include "collective_data.h"
#include "job.h"

enum { SYNC_LENGTH = SHMEM_COLLECT_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE
                   + SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE };

static int members, sync_turn, work_turn;
static long *syncs;
static char *work;        /* two arrays for reductions */
static size_t work_bytes; /* of one */

/* Memory for calls at this size; before a loop of them, by all PEs. */
static void prepare_calls(const struct transfer *t)
{
    const size_t least = SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(double);
    size_t need = t->bytes / 2 + sizeof(double);
    need = need > least ? need : least;
    if (work_bytes < need) {
        shmem_free(work);
        work = shmem_malloc(2 * need);
        work_bytes = need;
    }
    if (syncs == NULL) {
        members = t->pes;
        size_t length = (size_t)(members + 1) * SYNC_LENGTH;
        syncs = shmem_malloc(length * sizeof *syncs);
        for (size_t i = 0; syncs != NULL && i < length; i++)
            syncs[i] = SHMEM_SYNC_VALUE;
        shmem_barrier_all();
    }
    if (work == NULL || syncs == NULL)
        job_refuse("collectives: no memory for work arrays of %zu bytes", need);
}

static long *next_sync(void)
{
    sync_turn = (sync_turn + 1) % (members + 1);
    return syncs + (size_t)sync_turn * SYNC_LENGTH;
}

static void *next_work(void)
{
    work_turn = !work_turn;
    return work + (work_turn ? work_bytes : 0);
}

static void call_broadcast(long *dest, const long *source, size_t count, int from)
{
    shmem_broadcast64(dest, source, count, from, 0, 0, members, next_sync());
}

static void call_collect(long *dest, const long *source, size_t count)
{
    shmem_collect64(dest, source, count, 0, 0, members, next_sync());
}

static void call_fcollect(long *dest, const long *source, size_t count)
{
    shmem_fcollect64(dest, source, count, 0, 0, members, next_sync());
}

static void call_alltoall(long *dest, const long *source, size_t count)
{
    shmem_alltoall64(dest, source, count, 0, 0, members, next_sync());
}

static void call_alltoalls(long *dest, const long *source, size_t count)
{
    shmem_alltoalls64(dest, source, ALLTOALLS_STRIDE, ALLTOALLS_STRIDE, count, 0, 0, members,
                      next_sync());
}

static void call_reduce(double *dest, const double *source, size_t count)
{
    shmem_double_sum_to_all(dest, (double *)source, (int)count, 0, 0, members, next_work(),
                            next_sync());
}

static void call_reduce_int(int *dest, const int *source, size_t count)
{
    shmem_int_sum_to_all(dest, (int *)source, (int)count, 0, 0, members, next_work(), next_sync());
}

#endif
