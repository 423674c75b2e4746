/* Time of OpenSHMEM's collectives over all PEs, called in a row. */
#include <shmem.h>

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
#include "calls_teams.h"
#else
#include "calls_active_sets.h"
#endif
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 6
#define SCANS
#endif
#include "collective_data.h"
#include "program.h"

/* A loop of calls on arrays of `type`. */
#define CALLS(name, type, call)                                         \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        const type *source = (const type *)t.source;                    \
        type *dest = (type *)t.dest;                                    \
        size_t count = t.bytes / sizeof(type);                          \
        prepare_calls(transfer);                                        \
        for (long r = 0; r < repetitions; r++)                          \
            call;                                                       \
    }

CALLS(broadcast, long, call_broadcast(dest, source, count, next_root(t.pes)))
CALLS(collect, long, call_collect(dest, source, count))
CALLS(fcollect, long, call_fcollect(dest, source, count))
CALLS(alltoall, long, call_alltoall(dest, source, count))
CALLS(alltoalls, long, call_alltoalls(dest, source, count))
CALLS(reduce, double, call_reduce(dest, source, count))
CALLS(reduce_int, int, call_reduce_int(dest, source, count))
#ifdef SCANS
CALLS(sum_inscan, double, shmem_double_sum_inscan(SHMEM_TEAM_WORLD, dest, source, count))
CALLS(sum_exscan, double, shmem_double_sum_exscan(SHMEM_TEAM_WORLD, dest, source, count))
#endif

static void barrier_all(const struct transfer *transfer, long repetitions)
{
    (void)transfer;
    for (long r = 0; r < repetitions; r++)
        shmem_barrier_all();
}

static void sync_all(const struct transfer *transfer, long repetitions)
{
    (void)transfer;
    for (long r = 0; r < repetitions; r++)
        shmem_sync_all();
}

#define OPERATION(name, sizes, data) \
    {#name, "call", CALL_LATENCY, sizes, EVERYONE, 1, &data, name, NULL}

static const struct operation operations[] = {
    OPERATION(barrier_all, NO_SIZE, no_data),
    OPERATION(sync_all, NO_SIZE, no_data),
    OPERATION(broadcast, WORD_SIZES, broadcast_data),
    OPERATION(collect, WORD_SIZES, collect_data),
    OPERATION(fcollect, WORD_SIZES, collect_data),
    OPERATION(alltoall, WORD_SIZES, alltoall_data),
    OPERATION(alltoalls, WORD_SIZES, alltoalls_data),
    OPERATION(reduce, WORD_SIZES, sum_data),
    OPERATION(reduce_int, WORD_SIZES, int_sum_data),
#ifdef SCANS
    OPERATION(sum_inscan, WORD_SIZES, inscan_data),
    OPERATION(sum_exscan, WORD_SIZES, exscan_data),
#endif
};

PROGRAM("collectives",
        "time of one call; bytes: what each PE has (in alltoall, alltoalls: for each PE)",
        .least = sizeof(long), .memory = COLLECTIVE_MEMORY)
