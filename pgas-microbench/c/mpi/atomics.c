/* Latency of MPI's atomic operations on long, each followed by a flush: on a counter that no other
 * PE uses, and by all PEs on one counter of PE 0. They have the names of their OpenSHMEM
 * counterparts. */
#include "../program.h"
#include "../tally.h"
#include "job_mpi.h"

/* Operations that return the old value; `then` follows. */
#define FETCHING(name, value, action, then)                                        \
    static void name(const struct transfer *transfer, long repetitions)            \
    {                                                                              \
        const struct transfer t = *transfer;                                       \
        MPI_Win window = job_window_at(t.dest);                                    \
        long added = 0, olds = 0;                                                  \
        for (long r = 0; r < repetitions; r++) {                                   \
            long operand = value, old;                                             \
            MPI_Fetch_and_op(&operand, &old, MPI_LONG, t.peer, 0, action, window); \
            MPI_Win_flush(t.peer, window);                                         \
            then;                                                                  \
        }                                                                          \
        tally = (struct tally){added, olds};                                       \
    }

FETCHING(fetch_inc, 1, MPI_SUM, olds += old - INITIAL)
FETCHING(fetch_add, STEP, MPI_SUM, olds += old - INITIAL)
FETCHING(fetch, 0, MPI_NO_OP, added += old - INITIAL)
FETCHING(swap, r, MPI_REPLACE, added += r - old)

/* Operations that return no value; `sum` is the total that they add. */
#define NOT_FETCHING(name, value, action, sum)                                             \
    static void name(const struct transfer *transfer, long repetitions)                    \
    {                                                                                      \
        const struct transfer t = *transfer;                                               \
        MPI_Win window = job_window_at(t.dest);                                            \
        for (long r = 0; r < repetitions; r++) {                                           \
            long operand = value;                                                          \
            MPI_Accumulate(&operand, 1, MPI_LONG, t.peer, 0, 1, MPI_LONG, action, window); \
            MPI_Win_flush(t.peer, window);                                                 \
        }                                                                                  \
        tally.added = sum;                                                                 \
    }

NOT_FETCHING(add, 1, MPI_SUM, repetitions)
NOT_FETCHING(set, INITIAL + r + 1, MPI_REPLACE, repetitions)

/* Each tries to increment the value that it saw last; it fails if another PE changed the value. */
static void compare_swap(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Win window = job_window_at(t.dest);
    long expected = INITIAL, added = 0;
    for (long r = 0; r < repetitions; r++) {
        long next = expected + 1, old;
        MPI_Compare_and_swap(&next, &expected, &old, MPI_LONG, t.peer, 0, window);
        MPI_Win_flush(t.peer, window);
        added += old == expected;
        expected = old == expected ? next : old;
    }
    tally.added = added;
}

#define OPERATION(name, data)                                              \
    {#name, "rma", OWN_LATENCY, LONG_SIZE, ORIGINS, 1, &data, name, NULL}, \
    {#name "_contended", "rma", OWN_LATENCY, LONG_SIZE, EVERYONE, 1, &data, name, NULL}

static const struct operation operations[] = {
    OPERATION(fetch_inc, step_1_data), OPERATION(fetch_add, step_data), OPERATION(add, sum_data),
    OPERATION(swap, sum_data), OPERATION(compare_swap, sum_data), OPERATION(fetch, sum_data),
    OPERATION(set, set_data),
};

PAIR_PROGRAM("mpi-atomics",
             "time of one atomic operation: between the PEs of a pair, and all PEs on PE 0")
