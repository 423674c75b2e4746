/* How much of a transfer is hidden behind computing, and what arriving data do to the caches of the PE that computes,
 * for any OpenSHMEM, and with -DWITH_MPI for any MPI-3.
 *
 *     overlap [BYTES [FACTOR]]
 *
 * PE 0 is the origin, PE 1 the target, as they are bound; other PEs wait. A PE alone is both, for put and get. Each
 * figure is the median of the samples, after a 10th and before a 90th percentile:
 *
 *   put, get   share of the time of a non-blocking operation and what completes it, in per cent, that computing in
 * between hides:
 *              (operation + computing - both together) / operation, where computing takes FACTOR times as long as the
 * operation,
 *              or as memcpy of as many bytes, if that is longer
 *   put_added, get_added   both together - computing, in microseconds: what the transfer adds to the computing
 *   target     time of the target's computing in registers while puts arrive, by its time alone
 *   caches     time of the target's reads of half of its second-level cache while puts arrive, by their time alone
 *
 * Where the thread that waits takes part in the transfer, the operation alone is made by more threads than computing
 * leaves for it. So computing is compared with one thread's copy, too: if it took as long as two threads' copy, half of
 * that could be hidden at most. FACTOR is 2 unless it is given.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_MPI
#include "library_mpi.h"
#else
#include "library_shmem.h"
#endif

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
static double factor = 2;

static void begin(bool is_get, size_t bytes, int pe)
{
    if (is_get)
        library_get(here, there, bytes, pe);
    else
        library_put(there, here, bytes, pe);
}

/* The origin's side of `put` and `get`. */
static void overlap(const char *name, bool is_get, size_t bytes, int pe)
{
    const int repetitions = bytes >= 1 << 20 ? 3 : 20;
    double operation = 1, plain = 1, samples[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        double start = now();
        for (int r = 0; r < repetitions; r++) {
            begin(is_get, bytes, pe);
            library_complete(pe);
        }
        double time = (now() - start) / repetitions;
        if (time < operation)
            operation = time;
        start = now();
        memcpy(is_get ? here : there, is_get ? there : here, bytes);
        time = now() - start;
        if (time < plain)
            plain = time;
    }
    long steps = steps_for(factor * (operation > plain ? operation : plain));
    double added[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        double times[3] = {0, 0, 0}; /* the operation, computing, both */
        for (int r = 0; r < repetitions; r++) {
            double a = now();
            begin(is_get, bytes, pe);
            library_complete(pe);
            double b = now();
            kept = compute(steps);
            double c = now();
            begin(is_get, bytes, pe);
            kept = compute(steps);
            library_complete(pe);
            times[0] += b - a, times[1] += c - b, times[2] += now() - c;
        }
        samples[i] = 100 * (times[0] + times[1] - times[2]) / times[0];
        added[i] = 1e6 * (times[2] - times[1]) / repetitions;
    }
    print(name, bytes, samples);
    print(is_get ? "get_added" : "put_added", bytes, added);
}

/* On the origin, whether the target is still at work; on the target, whether puts arrive. */
enum { ARRIVING, GO, WORDS };
static int *words;

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

/* A put that is complete. */
static void put(size_t bytes)
{
    begin(false, bytes, 1);
    library_complete(1);
}

/* The slow-down of the target's work while puts of so many bytes arrive, one after another. All PEs. */
static void slow_down(const char *name, bool reads, size_t bytes, int me, const char *array, size_t array_bytes)
{
    double samples[SAMPLES];
    long amount = reads ? 1 : steps_for(10e-3);
    if (reads && me == 1)
        amount = (long)(10e-3 / (work(true, array, array_bytes, 100) / 100)) + 1;
    for (int i = 0; i < SAMPLES; i++) {
        words[ARRIVING] = 1, words[GO] = 0;
        library_barrier();
        if (me == 0) {
            put(bytes);
            library_set(&words[GO], 1, 1);
            while (library_word(&words[ARRIVING]) != 0)
                put(bytes);
        } else if (me == 1) {
            double alone = work(reads, array, array_bytes, amount);
            double again = work(reads, array, array_bytes, amount);
            while (library_word(&words[GO]) != 1)
                ;
            double beside = work(reads, array, array_bytes, amount);
            library_set(&words[ARRIVING], 0, 0);
            samples[i] = beside / (alone < again ? alone : again);
        }
        library_barrier();
    }
    if (me == 1)
        print(name, bytes, samples);
    library_barrier();
}

int main(int count, char **arguments)
{
    const size_t most = count > 1 ? strtoul(arguments[1], NULL, 0) : MOST;
    if (count > 2)
        factor = strtod(arguments[2], NULL);
    library_begin();
    int me = library_pe();
    int target = library_pes() > 1;
    if (most < 4096 || most > MOST || !(factor > 0 && factor <= 1000)) {
        if (me == 0)
            fprintf(stderr,
                    "overlap: the arguments are 4096 to %d bytes, and computing's time as a multiple of the "
                    "transfer's\n",
                    MOST);
        library_fail();
    }
    here = library_memory(MOST), there = library_memory(MOST), words = library_memory(WORDS * sizeof *words);
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t array_bytes = cache > 0 ? (size_t)cache / 2 : 128 << 10;
    char *array = calloc(1, array_bytes);
    if (here == NULL || there == NULL || words == NULL || array == NULL)
        library_fail();
    memset(here, 1 + me, MOST), memset(there, 0, MOST), memset(array, 1, array_bytes);
    if (me == 0) {
        puts("quantity,bytes,median,low,high");
        fflush(stdout);
    }
    for (size_t bytes = 4096; bytes <= most; bytes *= 4) {
        library_barrier();
        if (me == 0)
            overlap("put", false, bytes, target);
        library_barrier();
        if (me == target)
            for (size_t at = 0; at < bytes; at += 4093)
                if (there[at] != 1)
                    library_fail();
        library_barrier();
        if (me == 0)
            overlap("get", true, bytes, target);
        if (target)
            slow_down("target", false, bytes, me, array, array_bytes);
    }
    for (size_t bytes = 32 << 10; target && bytes <= most && bytes <= 4 << 20; bytes *= 4)
        slow_down("caches", true, bytes, me, array, array_bytes);
    library_barrier();
    library_end();
    return 0;
}
