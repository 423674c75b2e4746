/* Updates of random words, and gets of them, which irregular programs consist of: per second, in the
 * tables of all PEs (GUPS, histogram, index gather) or of the partner of a pair. */
#include <shmem.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "program.h"

enum {
    WORDS = 1 << 16, /* of a PE's table */
    GATHERED = 4096, /* words of an index gather; operations of a repetition */
};

/* Goes on where the last run ended, so that no run finds the words of the one before in its caches. */
static uint64_t state;

static inline uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

/* A random word of the table of the PE's partner, or of any PE. */
struct place {
    int pe;
    size_t word;
};

static inline struct place place(const struct transfer *t, uint64_t random)
{
    uint64_t high = random >> 32;
    int pe = t->part == EVERYONE ? (int)(high * (uint64_t)t->pes >> 32) : t->peer;
    return (struct place){pe, random % WORDS};
}

static long value(int pe, size_t word)
{
    return ((long)pe << 32 | (long)word) + 1;
}

static double added, fetched; /* what this PE has added, and the sum of what it has fetched */
static uint64_t first;        /* the state before the last window */

/* One operation each, on the word at `at` of PE `p.pe`. */
#define KERNEL(name, operation, count, after_window)                  \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                 \
        const struct transfer t = *transfer;                          \
        long *table = (long *)t.dest, *words = (long *)t.source;      \
        double sum = 0;                                               \
        for (long r = 0; r < repetitions; r++) {                      \
            first = state;                                            \
            for (int i = 0; i < t.window; i++) {                      \
                struct place p = place(&t, next());                   \
                long *at = &table[p.word];                            \
                operation;                                            \
            }                                                         \
            after_window;                                             \
        }                                                             \
        shmem_quiet();                                                \
        (void)words;                                                  \
        added = count * (double)repetitions * t.window;               \
        fetched = sum;                                                \
    }

KERNEL(put, shmem_long_p(at, value(p.pe, p.word), p.pe), 0, )
KERNEL(add, shmem_long_atomic_add(at, 1, p.pe), 1, )
KERNEL(fetch_add, sum += (double)shmem_long_atomic_fetch_add(at, 1, p.pe), 1, )
KERNEL(get, words[i] = shmem_long_g(at, p.pe), 0, )
KERNEL(get_nbi, shmem_long_get_nbi(&words[i], at, 1, p.pe), 0, shmem_quiet())
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
KERNEL(fetch_add_nbi, shmem_long_atomic_fetch_add_nbi(&words[i], at, 1, p.pe), 1, shmem_quiet())
#endif

static size_t gathered_bytes(size_t bytes, int pes)
{
    (void)pes;
    return GATHERED * bytes;
}

static size_t table_bytes(size_t bytes, int pes)
{
    (void)pes;
    return WORDS * bytes;
}

static void seed(const struct transfer *t)
{
    state = (uint64_t)(t->me + 1) * UINT64_C(0x9e3779b97f4a7c15);
    added = fetched = 0;
}

static void fill_zeros(const struct transfer *t)
{
    seed(t);
    memset(t->dest, 0, WORDS * t->bytes);
}

static void fill_values(const struct transfer *t)
{
    seed(t);
    memset(t->source, 0, GATHERED * t->bytes);
    for (size_t i = 0; i < WORDS; i++)
        ((long *)t->dest)[i] = value(t->me, i);
}

/* The sum of a number over all PEs that operate. */
static double total(const struct transfer *t, double mine)
{
    double *all = malloc((size_t)t->pes * sizeof *all), sum = 0;
    if (all == NULL)
        abort();
    job_share(&mine, 1, all);
    for (int pe = 0; pe < t->pes; pe++)
        sum += all[pe];
    free(all);
    return sum;
}

/* Each word is as it was or has its value, and some have it. */
static bool check_put(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    const long *table = (const long *)t->dest;
    size_t wrong = 0, written = 0;
    for (size_t i = 0; i < WORDS; i++) {
        wrong += table[i] != 0 && table[i] != value(t->me, i);
        written += table[i] != 0;
    }
    bool is_target = t->part == EVERYONE || !t->origin;
    return wrong == 0 && (written > 0) == is_target;
}

/* All that was added is there. */
static bool check_sum(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    double here = 0;
    for (size_t i = 0; i < WORDS; i++)
        here += (double)((const long *)t->dest)[i];
    return total(t, here) == total(t, added);
}

/* As above, and what was fetched are the numbers below each word's last value. */
static bool check_fetched(const struct transfer *t, long repetitions)
{
    double below = 0;
    for (size_t i = 0; i < WORDS; i++) {
        double last = (double)((const long *)t->dest)[i];
        below += last * (last - 1) / 2;
    }
    return check_sum(t, repetitions) && total(t, below) == total(t, fetched);
}

/* The last window's words are there. */
static bool check_gather(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    state = first;
    for (int i = 0; i < t->window; i++) {
        struct place p = place(t, next());
        if (((const long *)t->source)[i] != value(p.pe, p.word))
            return false;
    }
    return true;
}

static const struct data put_data = {gathered_bytes, table_bytes, fill_zeros, check_put};
static const struct data sum_data = {gathered_bytes, table_bytes, fill_zeros, check_sum};
static const struct data fetched_data = {gathered_bytes, table_bytes, fill_zeros, check_fetched};
static const struct data gather_data = {gathered_bytes, table_bytes, fill_values, check_gather};

#define RANDOM(name, data) \
    {"random_" #name, "call", RATE, LONG_SIZE, EVERYONE, GATHERED, &data, name, NULL}
#define PAIR(name, data) \
    {"pair_" #name, "call", RATE, LONG_SIZE, ORIGINS, GATHERED, &data, name, NULL}

static const struct operation operations[] = {
    RANDOM(put, put_data),
    RANDOM(add, sum_data),
    RANDOM(fetch_add, fetched_data),
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
    RANDOM(fetch_add_nbi, sum_data),
#endif
    RANDOM(get, gather_data),
    RANDOM(get_nbi, gather_data),
    PAIR(put, put_data),
    PAIR(add, sum_data),
};

PAIR_PROGRAM("updates", "operations on random words per second: in the tables of all PEs, and of a pair")
