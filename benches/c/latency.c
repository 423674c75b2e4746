/* The barrier of two PEs compared with the round trip of a cache line between two cores; a round
 * trip of p and wait_until compared with stores and loops of loads on the same two flags;
 * setting and clearing a free lock compared with two atomics. */
#include "rounds.h"

enum { COUNT = 400, LINE = 128 };

/* Each in a pair of cache lines of its own, which the CPU may fetch together. */
static struct {
    _Alignas(LINE) long ball;
    _Alignas(LINE) long flag;
    _Alignas(LINE) long counter;
    _Alignas(LINE) long lock;
} *heap;

static long *ball, *counter; /* PE 0's */
static long *peers_flag;
static long throws, messages;
static int me, peer;

/* A round trip of one cache line to the other PE. */
static void round_trips(long count)
{
    for (long i = 0; i < count; i++, throws += 2) {
        const long before = throws + (me == 0 ? 2 : 1);
        if (me == 0)
            __atomic_store_n(ball, throws + 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(ball, __ATOMIC_ACQUIRE) != before)
            ;
        if (me != 0)
            __atomic_store_n(ball, throws + 2, __ATOMIC_RELEASE);
    }
}

/* A store to the other PE's flag, which answers with a store to this PE's. */
static void two_transfers(long count)
{
    for (long i = 0; i < count; i++) {
        messages++;
        if (me == 0)
            __atomic_store_n(peers_flag, messages, __ATOMIC_RELEASE);
        while (__atomic_load_n(&heap->flag, __ATOMIC_ACQUIRE) != messages)
            ;
        if (me != 0)
            __atomic_store_n(peers_flag, messages, __ATOMIC_RELEASE);
    }
}

static void barriers(long count)
{
    for (long i = 0; i < count; i++)
        shmem_barrier_all();
}

static void messages_and_answers(long count)
{
    for (long i = 0; i < count; i++) {
        messages++;
        if (me == 0)
            shmem_long_p(&heap->flag, messages, peer);
        shmem_long_wait_until(&heap->flag, SHMEM_CMP_EQ, messages);
        if (me != 0)
            shmem_long_p(&heap->flag, messages, peer);
    }
}

static void two_atomics(long count)
{
    for (long i = 0; i < count; i++) {
        __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(counter, -1, __ATOMIC_SEQ_CST);
    }
}

static void locks(long count)
{
    for (long i = 0; i < count; i++) {
        shmem_set_lock(&heap->lock);
        shmem_clear_lock(&heap->lock);
    }
}

static const struct series all[] = {
    {"barrier_all", round_trips, barriers, COUNT, 1, 0},
    {"p+wait_until", two_transfers, messages_and_answers, COUNT, 1, 0},
    {"lock+unlock", two_atomics, locks, 20 * COUNT, 0, 0},
};

int main(void)
{
    me = one_of_two();
    peer = 1 - me;
    heap = shmem_align(LINE, sizeof *heap);
    heap->ball = heap->flag = heap->counter = heap->lock = 0;
    ball = shmem_ptr(&heap->ball, 0);
    counter = shmem_ptr(&heap->counter, 0);
    peers_flag = shmem_ptr(&heap->flag, peer);
    shmem_barrier_all();
    return serve(all, sizeof all / sizeof *all);
}
