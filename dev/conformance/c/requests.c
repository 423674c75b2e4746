/* One-sided operations with requests or signals (extension): what is complete when, several at once, beside
 * collectives, freed, left to a quiet, a context's end and shmem_finalize, in several threads, and with PEs that
 * come late. */
#include "check.h"
#include "end_request.h"
#include "sevens.h"

#include <pthread.h>
#include <shmemx.h>
#include <unistd.h>

enum { LARGE = REPEAT(64 << 20, 3 << 20), MANY = 300, THREADS = 4, ROUNDS = REPEAT(60, 12) };

static const size_t SIZES[] = { 0, 1, 7, 8, 64, 65, 257, 4099, 65536, 70001, 1 << 20, (2 << 20) + 1 };
enum { N_SIZES = sizeof SIZES / sizeof *SIZES, MOST = (2 << 20) + 1 };

static int me, n, to, from;
static unsigned char *dest, *source, *large;
static long flag;

/* Within 256 bytes, each is 7 more than the one before. */
static unsigned char value(int pe, size_t i, int round)
{
    return (unsigned char)(i * 7 + i / 256 + (size_t)pe * 31 + (size_t)round * 13 + 1);
}

static void fill(unsigned char *array, size_t size, int round)
{
    for (size_t i = 0; i < size; i += 256)
        memcpy(array + i, sevens(value(me, i, round)), size - i < 256 ? size - i : 256);
}

static void compare(const unsigned char *array, size_t size, int pe, int round)
{
    for (size_t i = 0; i < size; i += 256)
        if (memcmp(array + i, sevens(value(pe, i, round)), size - i < 256 ? size - i : 256) != 0) {
            CHECK(0, "bytes from %zu on of %zu, round %d", i, size, round);
            return;
        }
}

/* What has come with the other PE's next step, without a quiet of either. */
static void tell(int round) { shmem_long_atomic_set(&flag, round, to); }

static void each_size(shmem_ctx_t ctx, int *round)
{
    shmemx_req_h request;
    for (int s = 0; s < N_SIZES; s++, ++*round) {
        size_t size = SIZES[s];
        fill(source, size, *round);
        /* Two PEs may use each other's `dest`. */
        shmem_sync_all();
        shmemx_ctx_putmem_nb(ctx, dest, source, size, to, &request);
        end_request(&request, *round);
        memset(source, 0, size);
        tell(*round);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, *round);
        compare(dest, size, from, *round);
        shmem_sync_all();
        shmemx_ctx_getmem_nb(ctx, source, dest, size, to, &request);
        end_request(&request, *round + 1);
        compare(source, size, me, *round);
        shmem_sync_all();
    }
}

/* The forms for types, with a context and without. */
static void types(void)
{
    static double there[3];
    double here[3] = { 1, 2, me }, back[3];
    shmemx_req_h requests[2];
    shmemx_put_nb(there, here, 2, to, &requests[0]);
    shmemx_put_nb(SHMEM_CTX_DEFAULT, &there[2], &here[2], 1, to, &requests[1]);
    CHECK(shmemx_req_waitall(2, requests) == 0);
    shmemx_get_nb(back, there, 2, to, &requests[0]);
    shmemx_get_nb(SHMEM_CTX_DEFAULT, &back[2], &there[2], 1, to, &requests[1]);
    CHECK(shmemx_req_waitall(2, requests) == 0);
    CHECK(back[0] == 1 && back[1] == 2 && back[2] == me);
    shmem_barrier_all();
    CHECK(there[2] == from);
}

/* Every operator on words of both sizes, each PE on its own word of the next one; and all on one of PE 0. */
#define ATOMICS(TYPE)                                                                              \
    do {                                                                                           \
        static TYPE word, all;                                                                     \
        TYPE seen[8];                                                                              \
        shmemx_req_h requests[8];                                                                  \
        word = 12;                                                                                 \
        all = 0;                                                                                   \
        shmem_barrier_all();                                                                       \
        shmemx_atomic_fetch_add_nb(&seen[0], &word, -2, to, &requests[0]);                         \
        end_request(&requests[0], me);                                                                     \
        shmemx_atomic_fetch_and_nb(&seen[1], &word, 6, to, &requests[1]);                          \
        end_request(&requests[1], me + 1);                                                                 \
        shmemx_atomic_fetch_or_nb(&seen[2], &word, 5, to, &requests[2]);                           \
        end_request(&requests[2], me + 2);                                                                 \
        shmemx_atomic_fetch_xor_nb(&seen[3], &word, -1, to, &requests[3]);                         \
        end_request(&requests[3], me + 3);                                                                 \
        shmemx_atomic_swap_nb(&seen[4], &word, 40, to, &requests[4]);                              \
        end_request(&requests[4], me + 4);                                                                 \
        shmemx_atomic_compare_swap_nb(&seen[5], &word, 41, 50, to, &requests[5]);                  \
        end_request(&requests[5], me + 5);                                                                 \
        shmemx_atomic_compare_swap_nb(&seen[6], &word, 40, 60, to, &requests[6]);                  \
        end_request(&requests[6], me);                                                                     \
        shmemx_atomic_fetch_nb(&seen[7], (const TYPE *)&word, to, &requests[7]);                   \
        end_request(&requests[7], me + 1);                                                                 \
        CHECK(seen[0] == 12 && seen[1] == 10 && seen[2] == 2 && seen[3] == 7 && seen[4] == (TYPE)-8 \
              && seen[5] == 40 && seen[6] == 40 && seen[7] == 60);                                 \
        for (int i = 0; i < 8; i++)                                                                \
            shmemx_atomic_fetch_add_nb(&seen[i], &all, 1, 0, &requests[i]);                        \
        shmemx_req_free(&requests[3]);                                                             \
        CHECK(shmemx_req_waitall(8, requests) == 0);                                               \
        shmem_barrier_all();                                                                       \
        shmemx_atomic_fetch_nb(&seen[0], &all, 0, &requests[0]);                                   \
        end_request(&requests[0], me);                                                                     \
        CHECK(seen[0] == (TYPE)(8 * n));                                                           \
        shmem_barrier_all();                                                                       \
    } while (0)

/* Several at once, ended in another order than they began, freed, and beside collectives. */
static void many(void)
{
    static long sum, one = 1, got[MANY];
    shmemx_req_h requests[MANY + 1];
    int left = MANY + 1;
    for (int i = 0; i < MANY; i++)
        ((long *)source)[i] = me * 1000L + i;
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++)
        shmemx_put_nb((long *)dest + i, (long *)source + i, 1, to, &requests[i]);
    shmemx_sum_reduce_nb(SHMEM_TEAM_WORLD, &sum, &one, 1, &requests[MANY]);
    for (int i = 0; i < MANY; i += 3) {
        shmemx_req_free(&requests[i]);
        CHECK(requests[i] == SHMEMX_REQ_INVALID);
        left--;
    }
    for (; left > 0; left--) {
        size_t ended = left % 2 ? shmemx_req_waitany(MANY + 1, requests) : SIZE_MAX;
        while (ended == SIZE_MAX)
            ended = shmemx_req_testany(MANY + 1, requests);
        CHECK(ended <= MANY && requests[ended] == SHMEMX_REQ_INVALID);
    }
    CHECK(shmemx_req_waitany(MANY + 1, requests) == SIZE_MAX && sum == n);
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++)
        CHECK(((long *)dest)[i] == from * 1000L + i, "%d", i);
    for (int i = MANY - 1; i >= 0; i--)
        shmemx_getmem_nb(&got[i], (long *)dest + i, sizeof got[i], to, &requests[i]);
    CHECK(shmemx_req_waitall(MANY, requests) == 0);
    for (int i = 0; i < MANY; i++)
        CHECK(got[i] == me * 1000L + i, "%d", i);
}

/* What completes the operations of a context completes their requests, and a fence orders them. */
static void by_context(void)
{
    static const long one = 1;
    shmemx_req_h requests[N_SIZES];
    shmem_ctx_t ctx;
    for (int way = 0; way < 3; way++) {
        shmem_ctx_create(way == 2 ? SHMEM_CTX_PRIVATE : 0, &ctx);
        size_t at = 0;
        fill(source, MOST, way);
        shmem_barrier_all();
        for (int s = 0; s < N_SIZES; at += SIZES[s++] / 4)
            shmemx_ctx_putmem_nb(way ? ctx : SHMEM_CTX_DEFAULT, dest + at, source + at, SIZES[s] / 4, to, &requests[s]);
        if (way == 0)
            shmem_quiet();
        else if (way == 1)
            shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
        for (int s = 0; s < N_SIZES; s++)
            CHECK(shmemx_req_test(&requests[s]) == 0 && requests[s] == SHMEMX_REQ_INVALID, "%d", s);
        shmem_sync_all();
        compare(dest, at, from, way);
    }
    for (int round = 1; round < 20; round++) {
        flag = 0;
        fill(source, MOST, round);
        shmem_barrier_all();
        shmemx_putmem_nb(dest, source, SIZES[round % N_SIZES], to, &requests[0]);
        shmem_fence();
        shmemx_put_nb(&flag, &one, 1, to, &requests[1]);
        shmemx_req_free(&requests[1]);
        shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
        compare(dest, SIZES[round % N_SIZES], from, round);
        end_request(&requests[0], round);
        shmem_barrier_all();
    }
}

/* A signal says to the source that its bytes are read: so it writes others there at once. */
static void read_signals(shmem_ctx_t ctx, int round)
{
    static uint64_t read;
    shmemx_req_h request, quiet;
    for (int s = 0; s < N_SIZES; s++, round++) {
        size_t size = SIZES[s];
        read = 0;
        fill(source, size, round);
        memset(large, 0, size);
        shmem_barrier_all();
        if (s % 4 == me % 4)
            usleep(300);
        if (s % 3 == 0)
            shmemx_get_signal(ctx, large, source, size, &read, 7, SHMEM_SIGNAL_SET, to);
        else
            shmemx_get_signal_nb(ctx, large, source, size, &read, 7, SHMEM_SIGNAL_ADD, to, &request);
        if (s % 3 == 2) { /* A quiet completes the signal, too, of whichever call. */
            shmemx_ctx_quiet_nb(ctx, &quiet);
            end_request(&quiet, round);
            CHECK(shmem_uint64_atomic_fetch(&read, to) == 7, "%zu bytes", size);
        }
        if (s % 3 == 1 && s % 2)
            end_request(&request, round);
        shmem_signal_wait_until(&read, SHMEM_CMP_EQ, 7);
        memset(source, 0, size);
        if (s % 3 == 1 && s % 2 == 0)
            end_request(&request, round + 1);
        compare(large, size, to, round);
        shmem_sync_all();
        if (s % 3 == 2)
            CHECK(shmemx_req_wait(&request) == 0);
    }
    /* Left to a quiet, and to the end of a context. */
    shmem_ctx_t own;
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &own) == 0);
    for (int way = 0; way < 2; way++) {
        read = 0;
        shmem_barrier_all();
        for (int i = 0; i < 20; i++) {
            shmemx_get_signal_nb(own, large + i, source + i, 1, &read, 1, SHMEM_SIGNAL_ADD, to, &request);
            shmemx_req_free(&request);
        }
        if (way == 0)
            shmem_ctx_quiet(own);
        else
            shmem_ctx_destroy(own);
        CHECK(shmem_uint64_atomic_fetch(&read, to) == 20, "way %d", way);
        shmem_barrier_all();
    }
    shmem_pe_quiet(&to, 1);
    shmemx_get_signal_nb(large, source, 9, &read, 1, SHMEM_SIGNAL_ADD, to, &request);
    shmem_pe_quiet(&to, 1);
    CHECK(shmem_uint64_atomic_fetch(&read, to) == 21);
    shmem_barrier_all();
}

/* The results of many atomic operations arrive with one signal. */
static void fetch_signals(void)
{
    static uint64_t arrived;
    static long words[2];
    long seen[MANY], last = -1;
    for (int round = 0; round < 4; round++) {
        words[0] = words[1] = 0;
        arrived = 0;
        shmem_barrier_all();
        for (int i = 0; i < MANY; i++)
            shmemx_atomic_fetch_op_signal(&seen[i], &words[0], 1, 0, SHMEMX_SIGNED + sizeof(long), SHMEMX_SUM, &arrived,
                                          1, SHMEM_SIGNAL_ADD, to);
        if (round % 2)
            shmem_quiet();
        else
            shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, MANY);
        CHECK(arrived == MANY, "%d", (int)arrived);
        long all = 0;
        for (int i = 0; i < MANY; i++)
            all += seen[i];
        CHECK(all == MANY * (MANY - 1L) / 2, "%ld", all);
        shmem_barrier_all();
        CHECK(words[0] == MANY);
        arrived = 0;
        shmemx_atomic_fetch_op_signal(&last, &words[1], 5, 0, SHMEMX_SIGNED + sizeof(long), SHMEMX_COMPARE_SWAP,
                                      &arrived, 3, SHMEM_SIGNAL_SET, 0);
        shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 3);
        CHECK(last == 0 || last == 5);
        shmem_barrier_all();
    }
}

/* Quiets that do not wait: of a step, while the operations of the next are begun. */
static void quiets(shmem_ctx_t ctx)
{
    enum { STEPS = 24, DEPTH = 3 };
    static long steps;
    shmemx_req_h quiet[DEPTH];
    const size_t part = MOST / DEPTH;
    steps = 0;
    for (int k = 0; k < DEPTH; k++)
        quiet[k] = SHMEMX_REQ_INVALID;
    shmem_barrier_all();
    for (int step = 0; step < STEPS + DEPTH; step++) {
        int k = step % DEPTH, before = step - DEPTH;
        if (before >= 0) {
            end_request(&quiet[k], step);
            /* What is complete comes before what this PE does next, by any context. */
            shmem_long_atomic_set(&steps, before + 1, to);
            shmem_long_wait_until(&steps, SHMEM_CMP_GE, before + 1);
            size_t size = SIZES[before % N_SIZES] / 4;
            compare(dest + k * part, size, from, before);
            shmem_sync_all();
        }
        if (step < STEPS) {
            size_t size = SIZES[step % N_SIZES] / 4, at = k * part;
            fill(source + at, size, step);
            shmem_sync_all();
            for (size_t i = 0; i < 5; i++) { /* In parts, the first ones short. */
                size_t begin = i < 4 ? size / 100 * i : size / 100 * 4, end = i < 4 ? size / 100 * (i + 1) : size;
                shmem_ctx_putmem_nbi(ctx, dest + at + begin, source + at + begin, end - begin, to);
            }
            shmemx_ctx_quiet_nb(ctx, &quiet[k]);
        }
    }
    /* Of nothing, twice, of no context, and left alone. */
    shmemx_req_h request;
    shmemx_quiet_nb(&request);
    shmemx_quiet_nb(&quiet[0]);
    CHECK(shmemx_req_wait(&quiet[0]) == 0 && shmemx_req_wait(&request) == 0);
    shmemx_ctx_quiet_nb(SHMEM_CTX_INVALID, &request);
    CHECK(shmemx_req_test(&request) == 0);
    for (int i = 0; i < MANY; i++) {
        shmem_putmem_nbi(dest, source, 8, to);
        shmemx_quiet_nb(&request);
        if (i % 2 == 0)
            shmemx_req_free(&request);
    }
    end_request(&request, me);
    shmem_barrier_all();
}

/* One PE is late: the others put to it and get from it meanwhile. */
static void late(void)
{
    shmemx_req_h request;
    fill(source, 70001, 3);
    shmem_barrier_all();
    if (me == 0)
        usleep(200000);
    shmemx_putmem_nb(dest, source, 70001, to, &request);
    end_request(&request, me);
    shmemx_getmem_nb(large, dest, 70001, to, &request);
    end_request(&request, me + 1);
    compare(large, 70001, me, 3);
    shmem_barrier_all();
    compare(dest, 70001, from, 3);
}

/* One large copy, which may go on while the PE computes. */
static void one_large(void)
{
    shmemx_req_h request;
    volatile double sum = 0;
    unsigned char *mine = malloc(LARGE);
    if (me == 0) {
        fill(mine, LARGE, 5);
        shmemx_putmem_nb(large, mine, LARGE, to, &request);
        for (int i = 0; i < 1000000; i++)
            sum = sum + i;
        end_request(&request, 0);
        memset(mine, 0, LARGE);
        tell(5);
    }
    if (from == 0) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 5);
        compare(large, LARGE, 0, 5);
    }
    shmem_barrier_all();
    if (me == 0) {
        shmemx_getmem_nb(mine, large, LARGE, to, &request);
        end_request(&request, 1);
        compare(mine, LARGE, 0, 5);
    }
    free(mine);
    shmem_barrier_all();
}

static long words[THREADS][2][257];

/* Each thread by its own context or the default one; requests are ended by the thread that began them. */
static void *thread(void *argument)
{
    int id = (int)(intptr_t)argument;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    if (id % 2)
        CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        static const size_t lengths[] = { 1, 8, 9, 257 };
        size_t length = lengths[round % 4];
        long mine[2][257], back[2][257];
        shmemx_req_h requests[2];
        for (int k = 0; k < 2; k++) {
            for (size_t i = 0; i < length; i++)
                mine[k][i] = round * 100000L + id * 1000 + k * 500 + (long)i;
            shmemx_put_nb(ctx, words[id][k], mine[k], length, to, &requests[k]);
        }
        end_request(&requests[1], round);
        end_request(&requests[0], round + id);
        for (int k = 0; k < 2; k++)
            shmemx_get_nb(ctx, back[k], words[id][k], length, to, &requests[k]);
        CHECK(shmemx_req_waitall(2, requests) == 0);
        for (int k = 0; k < 2; k++)
            CHECK(memcmp(back[k], mine[k], length * sizeof(long)) == 0, "thread %d, round %d", id, round);
    }
    if (id % 2)
        shmem_ctx_destroy(ctx);
    return NULL;
}

int main(void)
{
    int provided, round = 1;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe();
    n = shmem_n_pes();
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    dest = shmem_calloc(1, MOST);
    source = shmem_calloc(1, MOST);
    large = shmem_calloc(1, LARGE);
    REQUIRE(dest != NULL && source != NULL && large != NULL);

    shmem_ctx_t ctx;
    shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
    each_size(SHMEM_CTX_DEFAULT, &round);
    each_size(ctx, &round);
    shmem_ctx_destroy(ctx);
    types();
    ATOMICS(int);
    ATOMICS(unsigned);
    ATOMICS(long);
    ATOMICS(unsigned long long);
    many();
    by_context();
    read_signals(SHMEM_CTX_DEFAULT, 1);
    fetch_signals();
    quiets(SHMEM_CTX_DEFAULT);
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    read_signals(ctx, 3);
    quiets(ctx);
    shmem_ctx_destroy(ctx);
    late();
    one_large();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    /* Left to shmem_finalize. */
    shmemx_req_h request;
    shmem_barrier_all();
    shmemx_putmem_nb(dest, source, MOST, to, &request);
    shmemx_getmem_nb(large, source, MOST, to, &request);
    return finish();
}
