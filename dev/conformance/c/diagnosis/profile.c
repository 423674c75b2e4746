/* Programs with a fault of performance each, and their correct twins: what oshrun --profile must and must not find. The
 * calls that a finding is to name are marked. "Computing" is sleep, so that it takes as long on a busy machine. */

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <shmem.h>
#include <shmemx.h>

enum { ROUNDS = 12 };

static int me, n;
static long value, counter, lock;
static int from[4], to[4];
static uint64_t arrived;
static long ring[64];

static void compute(int milliseconds) {
    usleep(1000u * (useconds_t)milliseconds);
}

static void late(int slow) {
    for (int i = 0; i < ROUNDS; i++) {
        compute(me == slow ? 40 : 10);
        shmem_barrier_all(); /* late */
    }
}

static void late_reduce(int slow) {
    for (int i = 0; i < ROUNDS; i++) {
        compute(me == slow ? 40 : 10);
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, to, from, 4); /* late-reduce */
    }
}

static void neighbour(int wrong) {
    for (int i = 0; i < 20; i++)
        shmem_long_p(&ring[i], i, me == wrong ? 0 : (me + 1) % n); /* neighbour */
    compute(40);
    shmem_barrier_all();
}

static void every_barrier(int rounds) {
    for (int i = 0; i < rounds; i++) {
        shmem_long_put(ring + 32, ring, 8, (me + 1) % n);
        shmem_barrier_all(); /* barrier */
    }
}

static void by_signals(int rounds) {
    for (int i = 0; i < rounds; i++) {
        shmem_long_put_signal(ring + 32, ring, 8, &arrived, 1, SHMEM_SIGNAL_ADD, (me + 1) % n);
        shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, (uint64_t)i + 1);
    }
}

/* All PEs on one processor: each has it for a part of the time alone. */
static void crowded(void) {
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec begin, now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        do
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000000);
        shmem_long_put(ring + 32, ring, 8, (me + 1) % n);
    }
    shmem_barrier_all();
}

static void locked(void) {
    for (int i = 0; i < 6; i++) {
        shmem_set_lock(&lock); /* lock */
        compute(8);
        shmem_clear_lock(&lock);
    }
}

static void counted(void) {
    for (int i = 0; i < 6; i++) {
        compute(8);
        shmem_long_atomic_add(&counter, 1, 0);
    }
}

static void sender(int milliseconds) {
    for (int i = 0; i < ROUNDS; i++) {
        compute(me == 0 ? 30 : milliseconds);
        if (me == 0)
            for (int pe = 1; pe < n; pe++)
                shmem_uint64_atomic_set(&arrived, (uint64_t)i + 1, pe);
        else
            shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, (uint64_t)i + 1); /* sender */
    }
}

/* Calls of many kinds, 10 of each, for traces; PE 1 may end before the last barrier. */
static void many(int ends) {
    long *block = shmem_malloc(4096);
    shmemx_region_begin("exchange");
    for (int i = 0; i < 10; i++) {
        shmem_long_p(&value, i, (me + 1) % n);
        shmem_long_get(block, ring, 16, (me + 1) % n);
        shmem_long_atomic_inc(&counter, 0);
        shmem_fence();
    }
    shmemx_region_end();
    if (ends && me == 1)
        raise(SIGKILL);
    shmem_barrier_all();
    shmem_free(block);
}

/* So many operations within the node that they are not all timed; their effects are right. */
static void many_short(void) {
    for (long i = 1; i <= 3000000; i++)
        shmem_long_p(&value, i, (me + 1) % n);
    shmem_long_atomic_inc(&counter, 0);
    for (int i = 0; i < 1000; i++)
        shmem_fence();
    shmem_barrier_all();
    if (value != 3000000 || (me == 0 && counter != n))
        shmem_global_exit(9);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    /* The file of the program, which is to be gone when the profile is made. */
    if (argc > 2 && me == 0)
        unlink(argv[2]);
    if (!strcmp(mode, "late"))
        late(1);
    else if (!strcmp(mode, "late-twin"))
        late(-1);
    else if (!strcmp(mode, "late-reduce"))
        late_reduce(2);
    else if (!strcmp(mode, "late-reduce-twin"))
        late_reduce(-1);
    else if (!strcmp(mode, "neighbour"))
        neighbour(2);
    else if (!strcmp(mode, "neighbour-twin"))
        neighbour(-1);
    else if (!strcmp(mode, "barrier"))
        every_barrier(3000);
    else if (!strcmp(mode, "barrier-twin"))
        by_signals(3000);
    else if (!strcmp(mode, "lock"))
        locked();
    else if (!strcmp(mode, "lock-twin"))
        counted();
    else if (!strcmp(mode, "sender"))
        sender(2);
    else if (!strcmp(mode, "sender-twin"))
        sender(30);
    else if (!strcmp(mode, "crowded"))
        crowded();
    else if (!strcmp(mode, "short"))
        many_short();
    else if (!strcmp(mode, "many") || !strcmp(mode, "many-killed"))
        many(strlen(mode) > 4);
    else
        fprintf(stderr, "no such fault: %s\n", mode);
    shmem_finalize();
    return 0;
}
