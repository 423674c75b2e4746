/* All PEs at one place at the same time: locks and counters. */
#ifndef FUZZ_CONTENTION_H
#define FUZZ_CONTENTION_H

#include "failures.h"

enum { LOCKS = 3, LOCKED_BYTES = 96, COUNTED = 2048 };

static long locks[LOCKS];
/* What a lock protects, on one PE: a count, and bytes that are all the same. */
static struct {
    long count;
    unsigned char bytes[LOCKED_BYTES];
} locked[LOCKS];

static uint64_t counter;
static unsigned char marks[COUNTED];

static void take_lock(struct rng *rng, long *lock)
{
    if (once_in(rng, 2)) {
        F(shmem_set_lock)(lock);
        return;
    }
    for (int tries = 1; F(shmem_test_lock)(lock) != 0; tries++)
        pause_for(tries % 16 == 0 ? 200 : 1);
}

static void look_at_locked(const unsigned char *bytes, int which, int number)
{
    for (int i = 1; i < LOCKED_BYTES; i++)
        if (bytes[i] != bytes[0])
            differs(number, "what lock %d protects: byte %d is %02x, byte 0 is %02x", which, i, bytes[i], bytes[0]);
}

/* Every PE adds to a count and overwrites an array under a lock, some times. */
static void contend_for_lock(struct rng *rng, int number)
{
    int which = below(rng, LOCKS), home = draw_left(rng), most = between(rng, 1, 8);
    int slow = once_in(rng, 3) ? below(rng, n) : -1;
    long all = 0;
    for (int pe = 0; pe < n; pe++)
        all += is_left(pe) ? pe % most + 1 : 0;
    struct rng own = rng_of(next(rng), (uint64_t)me, 0);
    /* The words of locks are PE 0's. */
    if (!is_left(0) && is_on_hosts())
        return;
    locked[which].count = 0;
    meet();
    for (int i = 0; i < me % most + 1; i++) {
        unsigned char bytes[LOCKED_BYTES];
        take_lock(&own, &locks[which]);
        F(shmem_getmem)(bytes, locked[which].bytes, sizeof bytes, home);
        look_at_locked(bytes, which, number);
        long count = F(shmem_long_g)(&locked[which].count, home);
        if (me == slow)
            pause_for(below(&own, 2000));
        memset(bytes, (int)next(&own) & 255, sizeof bytes);
        F(shmem_putmem)(locked[which].bytes, bytes, sizeof bytes, home);
        F(shmem_long_p)(&locked[which].count, count + 1, home);
        /* Clearing completes the updates. */
        F(shmem_clear_lock)(&locks[which]);
        calls += 5;
    }
    meet();
    if (me == home && locked[which].count != all)
        differs(number, "shmem_set_lock: %ld updates under lock %d instead of %ld", locked[which].count, which, all);
    look_at_locked(locked[which].bytes, which, number);
    meet();
}

/* A word that all add to, as often as they can, by one routine. */
static uint64_t sum;
/* Additions between two looks at the clock, and nanoseconds: PEs that have no core of their own rarely meet. */
enum { ADDITIONS = 50, ADDING = 1000000 };
static long own_additions, all_additions;

static const enum kind adding[] = {
    KIND_ATOMIC_INC,       KIND_ATOMIC_ADD,           KIND_ATOMIC_FETCH_INC,     KIND_ATOMIC_FETCH_ADD,
    KIND_ATOMIC_FETCH_INC_NBI, KIND_ATOMIC_FETCH_ADD_NBI, KIND_SIGNAL_ADD,
};

struct counting {
    struct rng rng;
    int home, times;
    const struct routine *adds;
    long additions;
};

static long nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* No addition is lost: counts them. */
static void add_up(struct counting *c)
{
    uint64_t one = 1, fetched[2] = {0, 0};
    for (long begin = nanoseconds(); nanoseconds() - begin < ADDING;) {
        for (int i = 0; i < ADDITIONS; i++) {
            struct arguments a = {.dest = &sum, .sig_addr = &sum, .signal = 1, .value = &one, .fetch = fetched,
                                  .result = fetched, .pe = c->home, .ctx = SHMEM_CTX_DEFAULT};
            c->adds->call(&a);
        }
        c->additions += ADDITIONS;
    }
    F(shmem_quiet)();
}

/* Fetches and increments: no two get the same, and each marks what it got. */
static void *count_up(void *argument)
{
    struct counting *c = argument;
    add_up(c);
    for (int i = 0; i < c->times; i++) {
        uint64_t got = 0, seen;
        switch (below(&c->rng, 5)) {
        case 0:
            got = F(shmem_uint64_atomic_fetch_inc)(&counter, c->home);
            break;
        case 1:
            got = F(shmem_uint64_atomic_fetch_add)(&counter, 1, c->home);
            break;
        case 2:
            F(shmem_uint64_atomic_fetch_inc_nbi)(&got, &counter, c->home);
            F(shmem_quiet)();
            break;
        case 3:
            F(shmem_uint64_atomic_fetch_add_nbi)(&got, &counter, 1, c->home);
            F(shmem_quiet)();
            break;
        default:
            got = F(shmem_uint64_atomic_fetch)(&counter, c->home);
            while ((seen = F(shmem_uint64_atomic_compare_swap)(&counter, got, got + 1, c->home)) != got)
                got = seen;
        }
        if (got >= COUNTED)
            differs(0, "a counter gives %llu", (unsigned long long)got);
        F(shmem_uint8_p)(&marks[got], 1, c->home);
    }
    F(shmem_quiet)();
    return NULL;
}

static void contend_for_counter(struct rng *rng, int number)
{
    int home = draw_left(rng), times = between(rng, 1, COUNTED / (n * threads) < 12 ? COUNTED / (n * threads) : 12);
    struct counting all[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    uint64_t draw = next(rng);
    enum kind kind = adding[below(rng, (int)(sizeof adding / sizeof adding[0]))];
    const struct routine *adds = draw_routine(rng, kind, 0, kind == KIND_SIGNAL_ADD || once_in(rng, 2) ? 8 : 4);
    called[adds - routines] = 1;
    counter = sum = 0;
    memset(marks, 0, sizeof marks);
    meet();
    for (int t = 0; t < threads; t++)
        all[t] = (struct counting){rng_of(draw, (uint64_t)me, (uint64_t)t), home, times, adds, 0};
    for (int t = 1; t < threads; t++)
        if (pthread_create(&ids[t], NULL, count_up, &all[t]) != 0)
            differs(number, "cannot start a thread");
    count_up(&all[0]);
    for (int t = 1; t < threads; t++)
        pthread_join(ids[t], NULL);
    own_additions = 0;
    for (int t = 0; t < threads; t++)
        own_additions += all[t].additions;
    calls += own_additions + 2 * times * threads;
    meet();
    F(shmem_long_sum_reduce)(teams[everyone].handle, &all_additions, &own_additions, 1);
    int increments = teams[everyone].size * threads * times;
    if (me == home && counter != (uint64_t)increments)
        differs(number, "a counter has %llu increments instead of %d", (unsigned long long)counter, increments);
    if (me == home && sum != (uint64_t)all_additions)
        differs(number, "%s: %llu of %ld additions", adds->name, (unsigned long long)sum, all_additions);
    for (int i = 0; me == home && i < increments; i++)
        if (marks[i] != 1)
            differs(number, "a counter never gives %d", i);
    meet();
}

#endif
