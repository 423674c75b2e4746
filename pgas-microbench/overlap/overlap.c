/* How much of a transfer is hidden behind computing, and what arriving data do to the caches of the PE that computes, for any OpenSHMEM.
 *
 * PE 0 is the origin, PE 1 the target, as they are bound; other PEs wait. A PE alone is both, for put and get. Each figure is the median of the samples, after a 10th and
 * before a 90th percentile:
 *
 *   put, get   share of the time of a non-blocking operation and its quiet, in per cent, that computing in between hides:
 *              (operation + computing - both together) / operation, where computing takes as long as the operation
 *   target     time of the target's computing in registers while puts arrive, by its time alone
 *   caches     time of the target's reads of half of its second-level cache while puts arrive, by their time alone
 */
#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 15, MOST = 16 << 20, LINE = 64 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, size_t bytes, double *samples)
{
    qsort(samples, SAMPLES, sizeof *samples, ascending);
    printf("%s,%zu,%.3f,%.3f,%.3f\n", name, bytes, samples[SAMPLES / 2], samples[SAMPLES / 10],
           samples[SAMPLES - 1 - SAMPLES / 10]);
    fflush(stdout);
}

/* Computes in registers. */
static uint64_t compute(long steps)
{
    uint64_t x = 88172645463325252ull;
    for (long i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* Reads an array once, line by line. */
static uint64_t sweep(const char *array, size_t bytes)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < bytes; at += LINE)
        sum += *(const volatile uint64_t *)(array + at);
    return sum;
}

static volatile uint64_t kept;

/* Steps of `compute` that take so many seconds. */
static long steps_for(double seconds)
{
    const long some = 1000000;
    double best = 1;
    for (int i = 0; i < 5; i++) {
        double begin = now();
        kept = compute(some);
        double time = now() - begin;
        if (time < best)
            best = time;
    }
    long steps = (long)(seconds / best * (double)some);
    return steps > 1 ? steps : 1;
}

static char *here, *there;

static void begin(bool is_get, size_t bytes, int pe)
{
    if (is_get)
        shmem_getmem_nbi(here, there, bytes, pe);
    else
        shmem_putmem_nbi(there, here, bytes, pe);
}

/* The origin's side of `put` and `get`. */
static void overlap(const char *name, bool is_get, size_t bytes, int pe)
{
    const int repetitions = bytes >= 1 << 20 ? 3 : 20;
    double operation = 1, samples[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        double start = now();
        for (int r = 0; r < repetitions; r++) {
            begin(is_get, bytes, pe);
            shmem_quiet();
        }
        double time = (now() - start) / repetitions;
        if (time < operation)
            operation = time;
    }
    long steps = steps_for(operation);
    for (int i = 0; i < SAMPLES; i++) {
        double times[3] = {0, 0, 0}; /* the operation, computing, both */
        for (int r = 0; r < repetitions; r++) {
            double a = now();
            begin(is_get, bytes, pe);
            shmem_quiet();
            double b = now();
            kept = compute(steps);
            double c = now();
            begin(is_get, bytes, pe);
            kept = compute(steps);
            shmem_quiet();
            times[0] += b - a, times[1] += c - b, times[2] += now() - c;
        }
        samples[i] = 100 * (times[0] + times[1] - times[2]) / times[0];
    }
    print(name, bytes, samples);
}

static int arriving; /* on the origin: the target is still at work */
static int go;       /* on the target: puts arrive */

/* What the target does: computes, or reads half of its second-level cache, a fixed number of times. */
static double work(bool reads, const char *array, size_t array_bytes, long amount)
{
    double start = now();
    if (reads)
        for (long i = 0; i < amount; i++)
            kept = sweep(array, array_bytes);
    else
        kept = compute(amount);
    return now() - start;
}

/* The slow-down of the target's work while puts of so many bytes arrive, one after another. All PEs. */
static void slow_down(const char *name, bool reads, size_t bytes, int me, const char *array, size_t array_bytes)
{
    double samples[SAMPLES];
    long amount = reads ? 1 : steps_for(10e-3);
    if (reads && me == 1)
        amount = (long)(10e-3 / (work(true, array, array_bytes, 100) / 100)) + 1;
    for (int i = 0; i < SAMPLES; i++) {
        arriving = 1;
        go = 0;
        shmem_barrier_all();
        if (me == 0) {
            shmem_putmem(there, here, bytes, 1);
            shmem_int_p(&go, 1, 1);
            while (!shmem_int_test(&arriving, SHMEM_CMP_EQ, 0))
                shmem_putmem(there, here, bytes, 1);
            shmem_quiet();
        } else if (me == 1) {
            double alone = work(reads, array, array_bytes, amount);
            double again = work(reads, array, array_bytes, amount);
            shmem_int_wait_until(&go, SHMEM_CMP_EQ, 1);
            double beside = work(reads, array, array_bytes, amount);
            shmem_int_p(&arriving, 0, 0);
            shmem_quiet();
            samples[i] = beside / (alone < again ? alone : again);
        }
        shmem_barrier_all();
    }
    if (me == 1)
        print(name, bytes, samples);
    shmem_barrier_all();
}

int main(int count, char **arguments)
{
    const size_t most = count > 1 ? strtoul(arguments[1], NULL, 0) : MOST;
    shmem_init();
    int me = shmem_my_pe();
    int target = shmem_n_pes() > 1;
    if (most < 4096 || most > MOST) {
        if (me == 0)
            fprintf(stderr, "overlap: the argument is 4096 to %d bytes\n", MOST);
        shmem_global_exit(1);
    }
    here = shmem_malloc(MOST), there = shmem_malloc(MOST);
    memset(here, 1 + me, MOST), memset(there, 0, MOST);
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t array_bytes = cache > 0 ? (size_t)cache / 2 : 128 << 10;
    char *array = calloc(1, array_bytes);
    if (here == NULL || there == NULL || array == NULL)
        shmem_global_exit(1);
    if (me == 0) {
        puts("quantity,bytes,median,low,high");
        fflush(stdout);
    }
    for (size_t bytes = 4096; bytes <= most; bytes *= 4) {
        shmem_barrier_all();
        if (me == 0)
            overlap("put", false, bytes, target);
        shmem_barrier_all();
        if (me == target)
            for (size_t at = 0; at < bytes; at += 4093)
                if (there[at] != 1)
                    shmem_global_exit(1);
        shmem_barrier_all();
        if (me == 0)
            overlap("get", true, bytes, target);
        if (target)
            slow_down("target", false, bytes, me, array, array_bytes);
    }
    for (size_t bytes = 32 << 10; target && bytes <= most && bytes <= 4 << 20; bytes *= 4)
        slow_down("caches", true, bytes, me, array, array_bytes);
    shmem_finalize();
    return 0;
}
