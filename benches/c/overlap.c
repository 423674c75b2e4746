/* The part of a put that overlaps with computation, on the origin PE and on the target PE.
 *
 *     overlap BYTES FACTOR...    on 2 PEs
 *
 * PE 0 puts BYTES bytes to PE 1 without blocking and waits for completion, while one of the two PEs
 * computes, FACTOR times as long as the put takes alone. A PE without work waits in a barrier. The
 * output has a line for each side and factor: microseconds, medians of rounds in which computation,
 * put, and both together alternate:
 *
 *     SIDE FACTOR COMPUTATION PUT PUT-MEANWHILE TOGETHER
 *
 * PUT-MEANWHILE ends when the put is complete, TOGETHER when the computation has ended as well. */
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* A series ends after this many rounds, or this many microseconds if other processes run. */
enum { ROUNDS = 21, FEWEST = 5, BUDGET = 2000000 };

static size_t bytes;
static char *source, *dest;
static double theirs[2]; /* on PE 0: the computation of PE 1, alone and during the put */
static volatile unsigned long sink;

static double now(void)
{
    return 1e-3 * now_ns();
}

/* Dependent steps in registers, without memory accesses. */
static void compute(long steps)
{
    unsigned long x = sink;
    for (long i = 0; i < steps; i++)
        x = x * 6364136223846793005ul + 1442695040888963407ul;
    sink = x;
}

/* Microseconds from a barrier to the end of the work of this PE. */
static double part(bool puts, long steps)
{
    shmem_barrier_all();
    double start = now();
    if (puts)
        shmem_putmem_nbi(dest, source, bytes, 1);
    if (steps > 0)
        compute(steps);
    if (puts)
        shmem_quiet();
    double mine = now() - start;
    shmem_barrier_all();
    return mine;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* The value of PE `from`, on both PEs. */
static double agree(double mine, int from)
{
    static double shared;
    if (shmem_my_pe() == from)
        for (int pe = 0; pe < 2; pe++)
            shmem_double_p(&shared, mine, pe);
    shmem_barrier_all();
    double value = shared;
    shmem_barrier_all();
    return value;
}

/* Whether a series that began at `begin` continues with round `round`, which PE 0 decides. */
static bool goes_on(int round, double begin)
{
    bool wanted = round < FEWEST || (round < ROUNDS && now() - begin < BUDGET);
    return agree(wanted, 0) != 0;
}

/* Median time of a put alone, or of `steps` steps on PE `side`, in microseconds. */
static double alone(int side, long steps)
{
    int me = shmem_my_pe();
    double times[ROUNDS], begin = now();
    int r;
    for (r = 0; goes_on(r, begin); r++)
        times[r] = part(steps == 0 && me == 0, me == side ? steps : 0);
    return agree(median(times, r), side);
}

static void measure(int side, double factor, long steps)
{
    int me = shmem_my_pe();
    double computation[ROUNDS], put[ROUNDS], meanwhile[ROUNDS], together[ROUNDS], begin = now();
    int r;
    for (r = 0; goes_on(r, begin); r++) {
        computation[r] = part(false, me == side ? steps : 0);
        put[r] = part(me == 0, 0);
        double mine = part(me == 0, me == side ? steps : 0);
        if (me == 1)
            shmem_double_put(theirs, (double[]){computation[r], mine}, 2, 0);
        shmem_barrier_all();
        if (side == 1)
            computation[r] = theirs[0];
        meanwhile[r] = mine;
        together[r] = side == 1 && theirs[1] > mine ? theirs[1] : mine;
    }
    if (me == 0)
        printf("%s %g %.3f %.3f %.3f %.3f\n", side == 0 ? "initiator" : "target", factor,
               median(computation, r), median(put, r), median(meanwhile, r), median(together, r));
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    if (argc < 3 || shmem_n_pes() != 2) {
        if (me == 0)
            fprintf(stderr, "usage: overlap BYTES FACTOR... (2 PEs)\n");
        shmem_global_exit(2);
    }
    bytes = strtoull(argv[1], NULL, 10);
    source = shmem_malloc(bytes);
    dest = shmem_malloc(bytes);
    if (source == NULL || dest == NULL) {
        fprintf(stderr, "overlap: no memory for %zu bytes in the symmetric heap\n", bytes);
        shmem_global_exit(1);
    }
    memset(source, me + 1, bytes);
    memset(dest, 0, bytes);
    const long sample = 100000;
    double put = alone(0, 0);
    for (int side = 0; side < 2; side++) {
        double step = alone(side, sample) / (double)sample;
        for (int i = 2; i < argc; i++) {
            double factor = strtod(argv[i], NULL);
            measure(side, factor, 1 + (long)(factor * put / step));
        }
    }
    shmem_barrier_all();
    for (size_t i = 0; me == 1 && i < bytes; i++) {
        if (dest[i] != 1) {
            fprintf(stderr, "overlap: byte %zu has not arrived\n", i);
            shmem_global_exit(1);
        }
    }
    shmem_finalize();
    return 0;
}
