/* Updates and reads of random words of all PEs, by turns in three ways: bale's conveyors over this library, this
 * library's atomics and gets, which it aggregates between nodes, and its streams. PE 0 prints for each turn the
 * millions of operations per second of all PEs: of the conveyors, of the plain operations, of the streams. Each result
 * is verified.
 *
 *     conveyors add|gather TURNS OPERATIONS */
#include <convey.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { WORDS = 1 << 16 }; /* of a PE's table */

struct question {
    uint32_t word, place;
};

struct answer {
    long value;
    uint64_t place;
};

static long table[WORDS];
static int pes, me;
static long operations;
static uint64_t *wanted; /* of each operation: the number of the word among all PEs' */
static long *result;     /* of each read */

static int pe_of(uint64_t word) { return (int)(word / WORDS); }
static uint32_t index_of(uint64_t word) { return (uint32_t)(word % WORDS); }

/* --- Conveyors --- */

static void add_by_conveyors(void)
{
    static convey_t *conveyor;
    if (conveyor == NULL)
        conveyor = convey_new(SIZE_MAX, 0, NULL, convey_opt_SCATTER | convey_opt_ALERT);
    convey_begin(conveyor, sizeof(uint32_t), alignof(uint32_t));
    for (long n = 0; convey_advance(conveyor, n == operations);) {
        for (; n < operations; n++) {
            uint32_t index = index_of(wanted[n]);
            if (convey_push(conveyor, &index, pe_of(wanted[n])) != convey_OK)
                break;
        }
        for (uint32_t *index; (index = convey_apull(conveyor, NULL)) != NULL;)
            table[*index]++;
    }
    convey_reset(conveyor);
}

static void gather_by_conveyors(void)
{
    static convey_t *questions, *answers;
    if (questions == NULL) {
        questions = convey_new(SIZE_MAX, 0, NULL, convey_opt_ALERT | convey_opt_SCATTER);
        answers = convey_new(SIZE_MAX, 0, NULL, convey_opt_ALERT);
    }
    convey_begin(questions, sizeof(struct question), alignof(struct question));
    convey_begin(answers, sizeof(struct answer), alignof(struct answer));
    bool more;
    for (long n = 0; more = convey_advance(questions, n == operations),
              more | convey_advance(answers, !more);) {
        for (; n < operations; n++) {
            struct question q = {index_of(wanted[n]), (uint32_t)n};
            if (convey_push(questions, &q, pe_of(wanted[n])) != convey_OK)
                break;
        }
        struct question *q;
        for (int64_t from; (q = convey_apull(questions, &from)) != NULL;) {
            struct answer a = {table[q->word], q->place};
            if (convey_push(answers, &a, from) != convey_OK) {
                convey_unpull(questions);
                break;
            }
        }
        for (struct answer *a; (a = convey_apull(answers, NULL)) != NULL;)
            result[a->place] = a->value;
    }
    convey_reset(answers);
    convey_reset(questions);
}

/* --- Plain operations --- */

static void add_plainly(void)
{
    for (long n = 0; n < operations; n++)
        shmem_long_atomic_add(&table[index_of(wanted[n])], 1, pe_of(wanted[n]));
    shmem_barrier_all();
}

static void gather_plainly(void)
{
    for (long n = 0; n < operations; n++)
        shmem_long_get_nbi(&result[n], &table[index_of(wanted[n])], 1, pe_of(wanted[n]));
    shmem_quiet();
    shmem_barrier_all();
}

/* --- Streams --- */

static void count(shmemx_stream_t stream)
{
    const void *items;
    for (size_t n; (n = shmemx_stream_view(stream, &items, NULL)) > 0;)
        for (size_t i = 0; i < n; i++)
            table[((const uint32_t *)items)[i]]++;
}

static void add_by_stream(void)
{
    static shmemx_stream_t stream;
    if (stream == NULL)
        shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(uint32_t), 0, &stream);
    for (long n = 0; n < operations; n++) {
        uint32_t index = index_of(wanted[n]);
        while (!shmemx_stream_push(stream, &index, pe_of(wanted[n])))
            count(stream);
    }
    shmemx_stream_end(stream);
    while (shmemx_stream_wait(stream))
        count(stream);
    shmemx_stream_reset(stream);
}

static void take_answers(shmemx_stream_t answers)
{
    for (struct answer a; shmemx_stream_pull(answers, &a, NULL);)
        result[a.place] = a.value;
}

static void gather_by_streams(void)
{
    static shmemx_stream_t questions, answers;
    if (questions == NULL) {
        shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct question), 0, &questions);
        shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct answer), 0, &answers);
    }
    bool is_ended = false;
    for (long n = 0; !shmemx_stream_done(questions);) {
        for (; n < operations; n++) {
            struct question q = {index_of(wanted[n]), (uint32_t)n};
            if (!shmemx_stream_push(questions, &q, pe_of(wanted[n])))
                break;
        }
        if (n == operations && !is_ended) {
            shmemx_stream_end(questions);
            is_ended = true;
        }
        struct question q;
        for (int pe; shmemx_stream_pull(questions, &q, &pe);) {
            struct answer a = {table[q.word], q.place};
            while (!shmemx_stream_push(answers, &a, pe))
                take_answers(answers);
        }
        take_answers(answers);
    }
    shmemx_stream_end(answers);
    while (shmemx_stream_wait(answers))
        take_answers(answers);
    shmemx_stream_reset(answers);
    shmemx_stream_reset(questions);
}

/* --- Measuring --- */

struct way {
    const char *name;
    void (*add)(void), (*gather)(void);
};

static const struct way ways[] = {
    {"conveyors", add_by_conveyors, gather_by_conveyors},
    {"plain", add_plainly, gather_plainly},
    {"streams", add_by_stream, gather_by_streams},
};
enum { WAYS = sizeof ways / sizeof *ways };

static long value_of(uint64_t word) { return (long)(word * word + 1); }

static void fail(const char *way)
{
    fprintf(stderr, "PE %d: wrong words by %s\n", me, way);
    shmem_global_exit(1);
}

/* All that was added is in the tables. */
static void check_added(const char *way)
{
    static long mine, all;
    mine = 0;
    for (int i = 0; i < WORDS; i++)
        mine += table[i];
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    if (all != operations * pes)
        fail(way);
}

static void check_gathered(const char *way)
{
    for (long n = 0; n < operations; n++)
        if (result[n] != value_of(wanted[n]))
            fail(way);
}

/* Millions of operations of all PEs per second. */
static double measure(const struct way *way, bool is_gather)
{
    for (int i = 0; i < WORDS; i++)
        table[i] = is_gather ? value_of((uint64_t)me * WORDS + (uint64_t)i) : 0;
    memset(result, 0, (size_t)operations * sizeof *result);
    shmem_barrier_all();
    const double start = now_ns();
    (is_gather ? way->gather : way->add)();
    shmem_barrier_all();
    const double end = now_ns();
    (is_gather ? check_gathered : check_added)(way->name);
    return (double)operations * pes / (end - start) * 1e3;
}

int main(int argc, char **argv)
{
    shmem_init();
    pes = shmem_n_pes();
    me = shmem_my_pe();
    bool is_gather = argc == 4 && strcmp(argv[1], "gather") == 0;
    long turns = argc == 4 ? atol(argv[2]) : 0;
    operations = argc == 4 ? atol(argv[3]) : 0;
    if (turns < 1 || operations < 1 || (!is_gather && strcmp(argv[1], "add") != 0)) {
        fprintf(stderr, "usage: %s add|gather TURNS OPERATIONS\n", argv[0]);
        shmem_global_exit(2);
    }
    wanted = malloc((size_t)operations * sizeof *wanted);
    result = malloc((size_t)operations * sizeof *result);
    if (wanted == NULL || result == NULL) {
        fprintf(stderr, "no memory for %ld operations\n", operations);
        shmem_global_exit(2);
    }
    uint64_t state = (uint64_t)me + 1;
    for (long n = 0; n < operations; n++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        wanted[n] = (state >> 24) % ((uint64_t)WORDS * (uint64_t)pes);
    }
    /* The first turn warms up. */
    for (long turn = -1; turn < turns; turn++) {
        double rates[WAYS];
        for (int i = 0; i < WAYS; i++) {
            int way = (int)((turn + 1 + i) % WAYS);
            rates[way] = measure(&ways[way], is_gather);
        }
        if (turn >= 0 && me == 0)
            printf("%.4f %.4f %.4f\n", rates[0], rates[1], rates[2]);
    }
    shmem_finalize();
    return 0;
}
