/* Time of MPI's collectives over all PEs, called in a row. They have the names of their OpenSHMEM
 * counterparts. */
#include <mpi.h>
#include <stdlib.h>

#include "../collective_data.h"
#include "../job.h"
#include "../program.h"

#define WORLD MPI_COMM_WORLD

/* A loop of calls on arrays of `type`. */
#define CALLS(name, type, call)                                         \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        const type *source = (const type *)t.source;                    \
        type *dest = (type *)t.dest;                                    \
        int count = (int)(t.bytes / sizeof(type));                      \
        for (long r = 0; r < repetitions; r++)                          \
            call;                                                       \
    }

CALLS(fcollect, long, MPI_Allgather(source, count, MPI_LONG, dest, count, MPI_LONG, WORLD))
CALLS(alltoall, long, MPI_Alltoall(source, count, MPI_LONG, dest, count, MPI_LONG, WORLD))
CALLS(reduce, double, MPI_Allreduce(source, dest, count, MPI_DOUBLE, MPI_SUM, WORLD))
CALLS(reduce_int, int, MPI_Allreduce(source, dest, count, MPI_INT, MPI_SUM, WORLD))
CALLS(sum_inscan, double, MPI_Scan(source, dest, count, MPI_DOUBLE, MPI_SUM, WORLD))
CALLS(sum_exscan, double, MPI_Exscan(source, dest, count, MPI_DOUBLE, MPI_SUM, WORLD))

static void barrier_all(const struct transfer *transfer, long repetitions)
{
    (void)transfer;
    for (long r = 0; r < repetitions; r++)
        MPI_Barrier(WORLD);
}

/* MPI has one array where OpenSHMEM has two. */
static void broadcast(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    int count = (int)(t.bytes / sizeof(long));
    for (long r = 0; r < repetitions; r++) {
        int from = next_root(t.pes);
        MPI_Bcast(t.me == from ? t.source : t.dest, count, MPI_LONG, from, WORLD);
    }
}

static void collect(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    int count = (int)(t.bytes / sizeof(long));
    int *counts = malloc((size_t)t.pes * sizeof *counts);
    int *places = malloc((size_t)t.pes * sizeof *places);
    if (counts == NULL || places == NULL)
        abort();
    for (int pe = 0; pe < t.pes; pe++) {
        counts[pe] = count;
        places[pe] = pe * count;
    }
    for (long r = 0; r < repetitions; r++)
        MPI_Allgatherv(t.source, count, MPI_LONG, t.dest, counts, places, MPI_LONG, WORLD);
    free(counts);
    free(places);
}

#define OPERATION(name, sizes, data) \
    {#name, "collective", CALL_LATENCY, sizes, EVERYONE, 1, &data, name, NULL}

static const struct operation operations[] = {
    OPERATION(barrier_all, NO_SIZE, no_data),
    OPERATION(broadcast, WORD_SIZES, broadcast_data),
    OPERATION(collect, WORD_SIZES, collect_data),
    OPERATION(fcollect, WORD_SIZES, collect_data),
    OPERATION(alltoall, WORD_SIZES, alltoall_data),
    OPERATION(reduce, WORD_SIZES, sum_data),
    OPERATION(reduce_int, WORD_SIZES, int_sum_data),
    OPERATION(sum_inscan, WORD_SIZES, inscan_data),
    OPERATION(sum_exscan, WORD_SIZES, exscan_data),
};

PROGRAM("mpi-collectives",
        "time of one call; bytes: what each PE has (in alltoall: for each PE)",
        .least = sizeof(long), .memory = COLLECTIVE_MEMORY)
