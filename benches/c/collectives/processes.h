/* No implementation: processes that only yield to each other, which is the limit if they outnumber
 * the cores. Each is bound to a core. The first argument is their number. */
#define _GNU_SOURCE
#include "implementation.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 128 };

static struct {
    _Alignas(LINE) int arrivals;
    _Alignas(LINE) long epoch;
    _Alignas(LINE) long token;
} *shared;

/* Forks the other processes. */
static void yields(size_t n)
{
    (void)n;
    sched_yield();
}

/* A barrier: a counter of arrivals, which the last one turns into an epoch. */
static void barrier(size_t n)
{
    (void)n;
    const long before = __atomic_load_n(&shared->epoch, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&shared->arrivals, 1, __ATOMIC_ACQ_REL) == pes) {
        shared->arrivals = 0;
        __atomic_store_n(&shared->epoch, before + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&shared->epoch, __ATOMIC_ACQUIRE) == before)
        sched_yield();
}

/* Passes a token through all processes, in order. */
static void ring(size_t n)
{
    (void)n;
    static long turns;
    const long mine = turns++ * pes + me;
    while (__atomic_load_n(&shared->token, __ATOMIC_ACQUIRE) != mine)
        sched_yield();
    __atomic_store_n(&shared->token, mine + 1, __ATOMIC_RELEASE);
}

static const struct operation operations[] = {
    {"yields", yields, NOTHING, 0},
    {"barrier", barrier, NOTHING, 0},
    {"ring", ring, NOTHING, 0},
    {NULL, NULL, NOTHING, 0},
};

/* Binds this process to one of its allowed cores, round robin. */
static void take_core(void)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    int turn = me % CPU_COUNT(&all), core = 0;
    while (!CPU_ISSET(core, &all) || turn-- > 0)
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void begin(int *argc, char ***argv)
{
    pes = *argc == 4 ? atoi((*argv)[1]) : 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pes < 1 || shared == MAP_FAILED) {
        fprintf(stderr, "usage: PROGRAM NUMBER BYTES GATE\n");
        exit(1);
    }
    for (int other = 1; other < pes && me == 0; other++) {
        const pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            exit(1);
        }
        if (pid == 0)
            me = other;
    }
    take_core();
}

static void *memory(size_t bytes) { return malloc(bytes); }
static void end(void) {}
