/* The same work done in two ways, timed in turn in many short rounds, so that disturbances affect
 * both.
 *
 * The program measures on demand. An order is a line with the name of a series and a number of
 * rounds; the answer is a line for each round: nanoseconds per operation of the bare hardware
 * and of the library. The program ends at the end of its input. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"

/* Does `count` operations. */
typedef void work(long count);

struct series {
    const char *name;
    work *bare, *ours;
    long count;   /* operations in one timing */
    int together; /* done by all PEs at the same time, else by PE 0 alone */
    size_t bytes; /* of each operation, if it has a size */
};

/* The series that is measured. */
static const struct series *series;

/* Nanoseconds of a timing that do not count: what its work prepares or ends. */
static double untimed;

static inline double nanoseconds_per_operation(work *work)
{
    if (series->together)
        shmem_barrier_all();
    untimed = 0;
    const double start = now_ns();
    work(series->count);
    return (now_ns() - start - untimed) / (double)series->count;
}

/* Measures; PE 0 prints the answers. */
static inline void measure(long rounds)
{
    work *const works[2] = {series->bare, series->ours};
    for (long round = 0; round < rounds; round++) {
        double times[2];
        for (long turn = 0; turn < 2; turn++) {
            const long which = (round ^ turn) & 1;
            times[which] = nanoseconds_per_operation(works[which]);
        }
        if (shmem_my_pe() == 0)
            printf("%.4f %.4f\n", times[0], times[1]);
    }
    fflush(stdout);
}

/* Reads the index in `all` of the series to measure and the rounds; negative at the end of
 * input. */
static inline long read_order(const struct series *all, long n, long *rounds)
{
    char name[64];
    if (scanf("%63s %ld", name, rounds) != 2)
        return -1;
    for (long which = 0; which < n; which++)
        if (strcmp(all[which].name, name) == 0)
            return which;
    fprintf(stderr, "no series \"%s\" in this program\n", name);
    exit(1);
}

/* Begins a program of two PEs; the number of this one. */
static inline int one_of_two(void)
{
    shmem_init();
    if (shmem_n_pes() != 2) {
        fprintf(stderr, "this needs 2 PEs, not %d\n", shmem_n_pes());
        exit(1);
    }
    return shmem_my_pe();
}

/* Carries out orders for the `n` series of `all`, and ends the use of the library; what main returns. Called by all
 * PEs. */
static inline int serve(const struct series *all, long n)
{
    static long order[2]; /* which, rounds; symmetric */
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* no output during the rounds */
    for (;;) {
        if (shmem_my_pe() == 0)
            order[0] = read_order(all, n, &order[1]);
        shmem_barrier_all();
        shmem_long_get(order, order, 2, 0);
        if (order[0] < 0)
            break;
        series = &all[order[0]];
        if (series->together || shmem_my_pe() == 0)
            measure(order[1]);
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}

#endif
