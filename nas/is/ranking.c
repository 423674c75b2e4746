/* The ranking of keys that are spread over all PEs: see ranking.h. */
#include "ranking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark.h"
#include "keys.h"
#include "line.h"
#include "reduce.h"
#include "send.h"

/* Few enough buckets that their cache lines stay in the first-level cache while keys are sent, and
 * enough that the shares of keys differ little between PEs. */
enum { FEWEST_LOG2_BUCKETS = 8, MOST_LOG2_BUCKETS = 11, LOG2_BUCKETS_OF_PE = 6 };

/* Every PE has a multiple of these. */
enum { KEYS_OF_LINE = LINE / (int)sizeof(int) };

static int log2_of(int power_of_two)
{
    int log2 = 0;
    while (power_of_two >> (log2 + 1) > 0)
        log2++;
    return log2;
}

static int log2_buckets(const Problem *problem, int pes)
{
    int log2 = log2_of(pes) + LOG2_BUCKETS_OF_PE;
    if (log2 < FEWEST_LOG2_BUCKETS)
        log2 = FEWEST_LOG2_BUCKETS;
    if (log2 > MOST_LOG2_BUCKETS)
        log2 = MOST_LOG2_BUCKETS;
    return log2 < problem->log2_max_key ? log2 : problem->log2_max_key;
}

static void *private(size_t bytes, const char *what)
{
    void *memory = calloc(bytes, 1);
    if (sum_long(memory == NULL) > 0)
        refuse("no memory for %zu MiB of %s on each PE", bytes >> 20, what);
    return memory;
}

void ranking_start(Ranking *r, const Problem *problem)
{
    int me = shmem_my_pe(), pes = shmem_n_pes();
    if ((pes & (pes - 1)) != 0 || pes > problem->most_pes)
        refuse("class %c runs on a power of two of PEs, at most %d, not on %d", problem->class,
               problem->most_pes, pes);
    int buckets = 1 << log2_buckets(problem, pes);
    size_t all_keys = (size_t)1 << problem->log2_keys, keys = all_keys / (size_t)pes;
    /* A PE gets the buckets that begin in its share of the sorted keys. Only the last of them can
     * extend past the share; the fullest bucket has 8/3 times the mean number of keys. */
    size_t room = keys + 3 * all_keys / (size_t)buckets + 64;

    *r = (Ranking){.problem = problem, .me = me, .pes = pes, .keys = keys, .room = room,
                   .buckets = buckets, .shift = problem->log2_max_key - log2_of(buckets)};
    size_t counts = (size_t)buckets + TESTS;
    heap_needed((keys + room + 2 * counts) * sizeof(int));
    r->key = symmetric(keys * sizeof(int), "the keys");
    r->received = symmetric(room * sizeof(int), "keys from other PEs");
    r->count = symmetric(counts * sizeof(int), "counts");
    r->total = symmetric(counts * sizeof(int), "sums of counts");
    r->start = private(((size_t)buckets + 1) * sizeof(int), "buckets");
    r->before = private((size_t)buckets * sizeof(int), "counts");
    r->row = private((size_t)buckets * sizeof(int), "counts");
    r->place = private((size_t)buckets * sizeof(Slot), "places");
    r->rank = private(sizeof(int) << problem->log2_max_key, "ranks");
    keys_generate(r->key, (size_t)me * keys, keys, problem->log2_max_key);
}

/* Step 1. The test keys are summed together with the counts. */
static void count_keys(Ranking *r)
{
    const int *key = r->key;
    int *count = r->count, shift = r->shift;
    memset(count, 0, (size_t)r->buckets * sizeof *count);
    for (const int *end = key + r->keys; key < end; key += KEYS_OF_LINE) {
        line_to_read((const char *)key + READ_AHEAD);
#pragma GCC unroll 16
        for (int i = 0; i < KEYS_OF_LINE; i++)
            count[(unsigned)key[i] >> shift]++;
    }
    for (int t = 0; t < TESTS; t++) {
        size_t at = (size_t)r->problem->tests[t].index - (size_t)r->me * r->keys;
        count[r->buckets + t] = at < r->keys ? r->key[at] : 0;
    }
}

/* The PE whose share of the sorted keys holds the first key of a bucket. */
static int owner(const Ranking *r, int bucket)
{
    int pe = (int)((size_t)r->start[bucket] / r->keys);
    return pe < r->pes ? pe : r->pes - 1; /* empty buckets at the end of the range */
}

static void count_before(Ranking *r)
{
    memset(r->before, 0, (size_t)r->buckets * sizeof *r->before);
    for (int pe = 0; pe < r->me; pe++) {
        const int *row = view_ints(r->row, r->count, (size_t)r->buckets, pe);
        for (int b = 0; b < r->buckets; b++)
            r->before[b] += row[b];
    }
}

/* Step 2. */
static void plan(Ranking *r)
{
    sum_ints(r->total, r->count, (size_t)r->buckets + TESTS);
    memcpy(r->test_keys, r->total + r->buckets, sizeof r->test_keys);
    for (int b = 0; b < r->buckets; b++)
        r->start[b + 1] = r->start[b] + r->total[b];
    count_before(r);

    r->first = r->end = 0;
    for (int b = 0, base = 0, last = -1; b < r->buckets; b++) {
        int pe = owner(r, b);
        if (pe != last)
            base = r->start[b];
        last = pe;
        r->first += pe < r->me;
        r->end += pe <= r->me;
        r->place[b] = place_at(r->received + (r->start[b] - base) + r->before[b], pe);
    }
    size_t mine = (size_t)(r->start[r->end] - r->start[r->first]);
    if (mine > r->room) {
        fprintf(stderr, "is: PE %d: %zu keys, room for %zu\n", r->me, mine, r->room);
        shmem_global_exit(EXIT_FAILURE);
    }
}

/* Step 3. */
static void send_keys(Ranking *r)
{
    const int *key = r->key;
    Slot *place = r->place;
    int shift = r->shift;
    for (const int *end = key + r->keys; key < end; key += KEYS_OF_LINE) {
        line_to_read((const char *)key + READ_AHEAD);
#pragma GCC unroll 16
        for (int i = 0; i < KEYS_OF_LINE; i++)
            send(&place[(unsigned)key[i] >> shift], key[i], i % 2 == 0);
    }
    shmem_barrier_all();
}

/* Step 4, one bucket after the other, so that its counters stay in the cache. */
static void rank_received(Ranking *r)
{
    const int *key = r->received;
    int width = 1 << r->shift;
    for (int b = r->first; b < r->end; b++) {
        int *rank = ranking_rank(r, b << r->shift), smaller = r->start[b];
        memset(rank, 0, (size_t)width * sizeof *rank);
        for (const int *end = key + (r->start[b + 1] - smaller); key < end; key++) {
            line_to_read((const char *)key + READ_AHEAD);
            rank[*key & (width - 1)]++;
        }
        for (int value = 0; value < width; value++) {
            int same = rank[value];
            rank[value] = smaller;
            smaller += same;
        }
    }
}

void ranking_run(Ranking *r)
{
    count_keys(r);
    plan(r);
    send_keys(r);
    rank_received(r);
}

void ranking_end(Ranking *r)
{
    void *symmetric[] = {r->key, r->received, r->count, r->total};
    void *private[] = {r->start, r->before, r->row, r->place, r->rank};
    for (size_t i = 0; i < sizeof symmetric / sizeof *symmetric; i++)
        shmem_free(symmetric[i]);
    for (size_t i = 0; i < sizeof private / sizeof *private; i++)
        free(private[i]);
}
