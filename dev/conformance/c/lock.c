/* Locks: mutual exclusion, many locks, test_lock, first come first served, no PE left out, and what was
 * written under a lock is seen by the next holder. */
#include "check.h"

#include <time.h>

enum { LOCKS = 64, ROUNDS = 200 };

static long lock;
static long locks[LOCKS];
static long counter;
static long counters[LOCKS];
static int inside;

/* The library's own functions, of which shmem.h inlines a part where the lock is free. */
static void (*volatile library_set)(long *) = shmem_set_lock;
static void (*volatile library_clear)(long *) = shmem_clear_lock;

static void exclusion(void)
{
    int n = shmem_n_pes();
    counter = inside = 0;
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        if (i & 1)
            shmem_set_lock(&lock);
        else
            library_set(&lock);
        CHECK(shmem_int_atomic_fetch_inc(&inside, 0) == 0, "two PEs hold the lock");
        shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
        shmem_int_atomic_add(&inside, -1, 0);
        if (i & 2)
            shmem_clear_lock(&lock);
        else
            library_clear(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&counter, 0) == (long)n * ROUNDS, "%ld", shmem_long_g(&counter, 0));
    shmem_barrier_all();
}

/* The protected data lies on another PE than the lock's first. */
static void data_under_lock(void)
{
    static long block[100];
    int me = shmem_my_pe(), owner = shmem_n_pes() - 1;
    memset(block, 0, sizeof block);
    shmem_barrier_all();
    for (int i = 0; i < 50; i++) {
        long copy[100];
        shmem_set_lock(&lock);
        shmem_long_get(copy, block, 100, owner);
        for (int k = 1; k < 100; k++)
            CHECK(copy[k] == copy[0], "torn: %ld and %ld", copy[k], copy[0]);
        for (int k = 0; k < 100; k++)
            copy[k]++;
        shmem_long_put_nbi(block, copy, 100, owner); /* completed by the release */
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    if (me == owner)
        CHECK(block[0] == 50l * shmem_n_pes(), "%ld", block[0]);
    shmem_barrier_all();
}

static void many_locks(void)
{
    int me = shmem_my_pe();
    memset(counters, 0, sizeof counters);
    shmem_barrier_all();
    for (int i = 0; i < LOCKS * 4; i++) {
        int k = (i * 7 + me * 11) % LOCKS;
        shmem_set_lock(&locks[k]);
        shmem_long_p(&counters[k], shmem_long_g(&counters[k], k % shmem_n_pes()) + 1,
                     k % shmem_n_pes());
        shmem_clear_lock(&locks[k]);
    }
    shmem_barrier_all();
    long mine = 0;
    for (int k = 0; k < LOCKS; k++)
        if (k % shmem_n_pes() == me)
            mine += counters[k];
    static long total;
    total = 0;
    shmem_barrier_all();
    shmem_long_atomic_add(&total, mine, 0);
    shmem_barrier_all();
    if (me == 0)
        CHECK(total == 4l * LOCKS * shmem_n_pes(), "%ld", total);
    /* Several at once, in one order. */
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 5; k++)
            shmem_set_lock(&locks[k]);
        CHECK(shmem_int_atomic_fetch_inc(&inside, 0) == 0);
        shmem_int_atomic_add(&inside, -1, 0);
        for (int k = 0; k < 5; k++)
            shmem_clear_lock(&locks[k]);
    }
    shmem_barrier_all();
}

static void test_lock(void)
{
    int me = shmem_my_pe();
    counter = 0;
    shmem_barrier_all();
    if (me == 0)
        CHECK(shmem_test_lock(&lock) == 0, "a clear lock is set");
    shmem_barrier_all();
    if (me != 0)
        CHECK(shmem_test_lock(&lock) == 1, "a set lock is refused");
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(&lock);
    shmem_barrier_all();
    for (int i = 0; i < 20; i++) {
        while (shmem_test_lock(&lock) != 0)
            ;
        shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
        shmem_clear_lock(&lock);
        /* Some wait properly meanwhile. */
        if (me % 2) {
            shmem_set_lock(&lock);
            shmem_clear_lock(&lock);
        }
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&counter, 0) == 20l * shmem_n_pes(), "%ld", shmem_long_g(&counter, 0));
    shmem_barrier_all();
}

/* A PE that has waited for long gets the lock before one that asks later, even if that one just released it.
 * That PE 1 waits already can only be made very likely, so one order of five must be right. */
static void first_come_first_served(void)
{
    static int about_to_wait, first;
    int me = shmem_my_pe(), served = 0;
    if (shmem_n_pes() < 2)
        return;
    for (int attempt = 0; attempt < 5 && !served; attempt++) {
        about_to_wait = first = 0;
        shmem_barrier_all();
        if (me == 0)
            shmem_set_lock(&lock);
        shmem_barrier_all();
        if (me == 1) {
            shmem_int_atomic_set(&about_to_wait, 1, 0);
            shmem_set_lock(&lock);
            shmem_int_atomic_compare_swap(&first, 0, 1, 0);
            shmem_clear_lock(&lock);
        } else if (me == 0) {
            shmem_int_wait_until(&about_to_wait, SHMEM_CMP_EQ, 1);
            nanosleep(&(struct timespec){0, 100000000}, NULL);
            shmem_clear_lock(&lock);
            shmem_set_lock(&lock);
            shmem_int_atomic_compare_swap(&first, 0, 2, 0);
            shmem_clear_lock(&lock);
        }
        shmem_barrier_all();
        served = shmem_int_g(&first, 0) == 1;
        shmem_barrier_all();
    }
    CHECK(served, "the PE that waited came second five times");
}

/* Each PE gets the lock a number of times while all others take it as often as they can: those that have
 * had their turns go on until the last has. How fair that is depends on the scheduler, and is measured by
 * the benchmarks. */
static void all_are_served(void)
{
    enum { TURNS = 100 };
    static long served;
    const int n = shmem_n_pes();
    served = 0;
    shmem_barrier_all();
    for (long mine = 1; shmem_long_atomic_fetch(&served, 0) < n; mine++) {
        shmem_set_lock(&lock);
        if (mine == TURNS)
            shmem_long_p(&served, shmem_long_g(&served, 0) + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&served, 0) == n, "%ld PEs of %d were served", shmem_long_g(&served, 0), n);
}

int main(void)
{
    shmem_init();
    exclusion();
    data_under_lock();
    many_locks();
    test_lock();
    first_come_first_served();
    all_are_served();
    /* A lock in the heap, freed and used anew. */
    for (int i = 0; i < 10; i++) {
        long *heap_lock = shmem_calloc(1, sizeof *heap_lock);
        REQUIRE(heap_lock != NULL);
        shmem_set_lock(heap_lock);
        shmem_clear_lock(heap_lock);
        shmem_barrier_all();
        shmem_free(heap_lock);
    }
    return finish();
}
