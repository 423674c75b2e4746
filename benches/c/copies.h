/* Bare copies: what a processor can do, to compare the library's with. Included after rounds.h. */
#ifndef COPIES_H
#define COPIES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__ /* with AVX */
#include <immintrin.h>
#endif

typedef void copy_function(char *dest, const char *source, size_t bytes);

/* Through the caches, as the C library does it. */
static void copy_temporal(char *dest, const char *source, size_t bytes)
{
    memcpy(dest, source, bytes);
    __asm__ volatile("" : : "r"(dest) : "memory");
}

#ifdef __x86_64__
/* Past the caches, with the source fetched ahead or not. Both sides are aligned, and `bytes` is a multiple
 * of 64. */
#define NON_TEMPORAL(name, ahead)                                                           \
    __attribute__((target("avx"))) static void name(char *dest, const char *source,         \
                                                    size_t bytes)                           \
    {                                                                                       \
        for (size_t i = 0; i < bytes; i += 64) {                                            \
            const __m256i a = _mm256_load_si256((const __m256i *)(const void *)(source + i)); \
            const __m256i b = _mm256_load_si256((const __m256i *)(const void *)(source + i + 32)); \
            if (ahead)                                                                      \
                _mm_prefetch(source + i + ahead, _MM_HINT_NTA);                             \
            _mm256_stream_si256((__m256i *)(void *)(dest + i), a);                          \
            _mm256_stream_si256((__m256i *)(void *)(dest + i + 32), b);                     \
        }                                                                                   \
        _mm_sfence();                                                                       \
    }
NON_TEMPORAL(copy_non_temporal, 0)
NON_TEMPORAL(copy_non_temporal_ahead, 2048)

/* By the processor's own loop. */
static void copy_string(char *dest, const char *source, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(dest), "+S"(source), "+c"(bytes) : : "memory");
}

static copy_function *const copy_functions[] = {copy_temporal, copy_non_temporal,
                                                copy_non_temporal_ahead, copy_string};
#else
static copy_function *const copy_functions[] = {copy_temporal};
#endif

enum { COPY_FUNCTIONS = sizeof copy_functions / sizeof *copy_functions };

/* Private memory on huge pages, if the system has them; all of it is touched. */
static inline char *on_huge_pages(size_t bytes)
{
    const size_t huge = 2 << 20;
    char *const place = aligned_alloc(huge, (bytes + huge - 1) / huge * huge);
    if (place) {
        madvise(place, bytes, MADV_HUGEPAGE);
        memset(place, 3, bytes);
    }
    return place;
}

/* Compares two numbers, for qsort. */
static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A bare copy. */
struct bare {
    copy_function *copy;
    char *dest;
    const char *source;
};

/* The fastest copy of `bytes` bytes between one of `n` dests and the source of the same number. The
 * alternatives take turns; the median of each counts. */
static inline struct bare best_copy(char *const *dests, const char *const *sources, int n,
                                    size_t bytes)
{
    enum { TURNS = 9, MOST = 4 };
    const long count = (long)(((size_t)1 << 20) / bytes) + 1;
    static double times[MOST * COPY_FUNCTIONS][TURNS];
    for (int turn = -1; turn < TURNS; turn++)
        for (int place = 0; place < n; place++)
            for (int which = 0; which < COPY_FUNCTIONS; which++) {
                copy_functions[which](dests[place], sources[place], bytes);
                const double start = now_ns();
                for (long i = 0; i < count; i++)
                    copy_functions[which](dests[place], sources[place], bytes);
                if (turn >= 0)
                    times[place * COPY_FUNCTIONS + which][turn] = now_ns() - start;
            }
    int best = 0;
    for (int i = 0; i < n * COPY_FUNCTIONS; i++) {
        qsort(times[i], TURNS, sizeof *times[i], ascending);
        if (times[i][TURNS / 2] < times[best][TURNS / 2])
            best = i;
    }
    const int place = best / COPY_FUNCTIONS;
    const struct bare bare = {copy_functions[best % COPY_FUNCTIONS], dests[place], sources[place]};
    return bare;
}

/* The same for the series that is measured, which its PEs find out at once, and once. */
static inline struct bare best_of_series(char *const *dests, const char *const *sources, int n)
{
    static const struct series *known;
    static struct bare fastest;
    if (known != series) {
        known = series;
        fastest = best_copy(dests, sources, n, series->bytes);
        if (series->together)
            shmem_barrier_all();
    }
    return fastest;
}

#endif
