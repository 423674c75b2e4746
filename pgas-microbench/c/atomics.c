/* Latency of OpenSHMEM's atomic operations on long, and of C11's through shmem_ptr: on a counter
 * that no other PE uses, and by all PEs on one counter of PE 0. shmem_quiet follows those that
 * return no value. */
#include <shmem.h>
#include <stdatomic.h>

#include "program.h"
#include "tally.h"

static bool reachable(const struct transfer *t)
{
    return shmem_ptr(t->dest, t->peer) != NULL;
}

/* An operation on `object`: `call` returns the old value; `then` follows. */
#define FETCHING_FORM(name, object, call, then)                         \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        object;                                                         \
        long added = 0, olds = 0;                                       \
        for (long r = 0; r < repetitions; r++) {                        \
            long old = call;                                            \
            then;                                                       \
        }                                                               \
        tally = (struct tally){added, olds};                            \
    }
/* The same followed by shmem_quiet; `sum` is the total that they add. */
#define NOT_FETCHING_FORM(name, object, call, sum)                      \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        object;                                                         \
        for (long r = 0; r < repetitions; r++) {                        \
            call;                                                       \
            shmem_quiet();                                              \
        }                                                               \
        tally.added = sum;                                              \
    }
/* Each operation in both forms. */
#define FORMS(KIND, name, call, ptr, last)                        \
    KIND##_FORM(name, long *counter = (long *)t.dest, call, last) \
    KIND##_FORM(name##_ptr, _Atomic long *counter = shmem_ptr(t.dest, t.peer), ptr, last)

#define SUM_OLD olds += old - INITIAL

FORMS(FETCHING, fetch_inc, shmem_long_atomic_fetch_inc(counter, t.peer), atomic_fetch_add(counter, 1),
      SUM_OLD)
FORMS(FETCHING, fetch_add, shmem_long_atomic_fetch_add(counter, STEP, t.peer),
      atomic_fetch_add(counter, STEP), SUM_OLD)
FORMS(FETCHING, fetch, shmem_long_atomic_fetch(counter, t.peer), atomic_load(counter),
      added += old - INITIAL)
FORMS(FETCHING, swap, shmem_long_atomic_swap(counter, r, t.peer), atomic_exchange(counter, r),
      added += r - old)

FORMS(NOT_FETCHING, add, shmem_long_atomic_add(counter, 1, t.peer), atomic_fetch_add(counter, 1),
      repetitions)
FORMS(NOT_FETCHING, set, shmem_long_atomic_set(counter, INITIAL + r + 1, t.peer),
      atomic_store(counter, INITIAL + r + 1), repetitions)

/* Each tries to increment the value that it saw last; it fails if another PE changed the value. */
static void compare_swap(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    long *counter = (long *)t.dest, expected = INITIAL, added = 0;
    for (long r = 0; r < repetitions; r++) {
        long old = shmem_long_atomic_compare_swap(counter, expected, expected + 1, t.peer);
        added += old == expected;
        expected = old == expected ? old + 1 : old;
    }
    tally.added = added;
}

static void compare_swap_ptr(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    _Atomic long *counter = shmem_ptr(t.dest, t.peer);
    long expected = INITIAL, added = 0;
    for (long r = 0; r < repetitions; r++) {
        bool swapped = atomic_compare_exchange_strong(counter, &expected, expected + 1);
        added += swapped;
        expected += swapped;
    }
    tally.added = added;
}

#define OPERATION(name, data)                                                             \
    {#name, "call", OWN_LATENCY, LONG_SIZE, ORIGINS, 1, &data, name, NULL},               \
    {#name, "ptr", OWN_LATENCY, LONG_SIZE, ORIGINS, 1, &data, name##_ptr, reachable},     \
    {#name "_contended", "call", OWN_LATENCY, LONG_SIZE, EVERYONE, 1, &data, name, NULL}, \
    {#name "_contended", "ptr", OWN_LATENCY, LONG_SIZE, EVERYONE, 1, &data, name##_ptr, reachable}

static const struct operation operations[] = {
    OPERATION(fetch_inc, step_1_data), OPERATION(fetch_add, step_data), OPERATION(add, sum_data),
    OPERATION(swap, sum_data), OPERATION(compare_swap, sum_data), OPERATION(fetch, sum_data),
    OPERATION(set, set_data),
};

PAIR_PROGRAM("atomics",
             "time of one atomic operation: between the PEs of a pair, and all PEs on PE 0")
