/* The deprecated collectives on active sets: every routine on sets of several shapes, work arrays
 * given back as they were, sets at work at the same time. */
#include "check.h"

#include <unistd.h>

enum { MOST = 600, PSYNCS = 4 };

static long sync_words[PSYNCS][SHMEM_SYNC_SIZE];
static long barrier_words[SHMEM_BARRIER_SYNC_SIZE];
static uint32_t source32[MOST * 16], dest32[MOST * 16];
static uint64_t source64[MOST * 16], dest64[MOST * 16];
static int me, n;
static int next_psync;

/* A work array may be used again once a barrier has shown that the last use is over. */
static long *psync(void)
{
    return sync_words[next_psync++ % PSYNCS];
}

static void restored(void)
{
    for (int i = 0; i < PSYNCS; i++)
        for (int k = 0; k < SHMEM_SYNC_SIZE; k++)
            CHECK(sync_words[i][k] == SHMEM_SYNC_VALUE, "pSync %d word %d", i, k);
}

static void prepare(int round)
{
    for (int i = 0; i < MOST * 16; i++) {
        source32[i] = (uint32_t)(me * 100000 + round * 1000 + i);
        source64[i] = (uint64_t)source32[i] << 20;
        dest32[i] = UINT32_MAX;
        dest64[i] = UINT64_MAX;
    }
}

static uint32_t from(int pe, int round, int i)
{
    return (uint32_t)(pe * 100000 + round * 1000 + i);
}

static void data_movement(int start, int log_stride, int size)
{
    int stride = 1 << log_stride, my = (me - start) / stride;
    for (int round = 0; round < 4; round++) {
        int root = (size - 1 + round) % size, count = round * 50 + 1;
        shmem_barrier(start, log_stride, size, barrier_words);
        prepare(round);
        shmem_barrier(start, log_stride, size, barrier_words);
        shmem_broadcast32(dest32, source32, (size_t)count, root, start, log_stride, size, psync());
        shmem_broadcast64(dest64, source64, (size_t)count, root, start, log_stride, size, psync());
        for (int i = 0; i < count; i++) {
            /* The root's own target is not written by these. */
            uint32_t want = from(start + root * stride, round, i);
            CHECK(dest32[i] == (my == root ? UINT32_MAX : want), "broadcast32 element %d", i);
            CHECK(dest64[i] == (my == root ? UINT64_MAX : (uint64_t)want << 20), "broadcast64");
        }
        CHECK(dest32[count] == UINT32_MAX);

        shmem_barrier(start, log_stride, size, barrier_words);
        prepare(round);
        shmem_barrier(start, log_stride, size, barrier_words);
        int mine = (my * 13 + round) % 30;
        shmem_collect32(dest32, source32, (size_t)mine, start, log_stride, size, psync());
        shmem_fcollect64(dest64, source64, (size_t)count, start, log_stride, size, psync());
        int at = 0;
        for (int pe = 0; pe < size; pe++) {
            for (int i = 0; i < (pe * 13 + round) % 30; i++, at++)
                CHECK(dest32[at] == from(start + pe * stride, round, i), "collect32 PE %d", pe);
            for (int i = 0; i < count; i++)
                CHECK(dest64[pe * count + i] == (uint64_t)from(start + pe * stride, round, i) << 20,
                      "fcollect64 PE %d element %d", pe, i);
        }
        CHECK(dest32[at] == UINT32_MAX, "collect32: one too many");

        shmem_barrier(start, log_stride, size, barrier_words);
        prepare(round);
        shmem_barrier(start, log_stride, size, barrier_words);
        shmem_fcollect32(dest32, source32, (size_t)count, start, log_stride, size, psync());
        shmem_collect64(dest64, source64, (size_t)mine, start, log_stride, size, psync());
        at = 0;
        for (int pe = 0; pe < size; pe++) {
            CHECK(dest32[pe * count] == from(start + pe * stride, round, 0), "fcollect32");
            for (int i = 0; i < (pe * 13 + round) % 30; i++, at++)
                CHECK(dest64[at] == (uint64_t)from(start + pe * stride, round, i) << 20, "collect64");
        }

        shmem_barrier(start, log_stride, size, barrier_words);
        prepare(round);
        shmem_barrier(start, log_stride, size, barrier_words);
        shmem_alltoall32(dest32, source32, (size_t)count, start, log_stride, size, psync());
        shmem_alltoall64(dest64, source64, (size_t)count, start, log_stride, size, psync());
        for (int pe = 0; pe < size; pe++)
            for (int i = 0; i < count; i++) {
                uint32_t want = from(start + pe * stride, round, my * count + i);
                CHECK(dest32[pe * count + i] == want, "alltoall32 PE %d element %d", pe, i);
                CHECK(dest64[pe * count + i] == (uint64_t)want << 20, "alltoall64");
            }

        shmem_barrier(start, log_stride, size, barrier_words);
        prepare(round);
        shmem_barrier(start, log_stride, size, barrier_words);
        shmem_alltoalls32(dest32, source32, 2, 3, (size_t)count, start, log_stride, size, psync());
        shmem_alltoalls64(dest64, source64, 3, 2, (size_t)count, start, log_stride, size, psync());
        for (int pe = 0; pe < size; pe++)
            for (int i = 0; i < count; i++) {
                int k = pe * count + i, of = my * count + i, world = start + pe * stride;
                CHECK(dest32[k * 2] == from(world, round, of * 3), "alltoalls32 element %d", k);
                CHECK(dest32[k * 2 + 1] == UINT32_MAX, "alltoalls32 wrote between");
                CHECK(dest64[k * 3] == (uint64_t)from(world, round, of * 2) << 20, "alltoalls64");
            }
    }
    shmem_barrier(start, log_stride, size, barrier_words);
}

#define ELEMENT(type, pe, i) ((type)(1 + ((pe) + (i)) % 2))

#define TEST_OP(type, name, op, combine)                                                           \
    static void name##_##op(int start, int log_stride, int size)                                   \
    {                                                                                              \
        enum { COUNT = 77 };                                                                       \
        static type source[COUNT + 1], dest[COUNT + 1];                                            \
        static type work[COUNT / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];                           \
        for (int in_place = 0; in_place < 2; in_place++) {                                         \
            type *to = in_place ? source : dest;                                                   \
            for (int i = 0; i <= COUNT; i++) {                                                     \
                source[i] = ELEMENT(type, me, i);                                                  \
                dest[i] = 0;                                                                       \
            }                                                                                      \
            shmem_sync(start, log_stride, size, barrier_words);                                    \
            shmem_##name##_##op##_to_all(to, source, COUNT, start, log_stride, size, work,         \
                                         psync());                                                 \
            for (int i = 0; i < COUNT; i++) {                                                      \
                type want = ELEMENT(type, start, i);                                               \
                for (int pe = 1; pe < size; pe++)                                                  \
                    want = (type)combine(want, ELEMENT(type, start + (pe << log_stride), i));      \
                CHECK(to[i] == want, "%s %s element %d", #name, #op, i);                           \
            }                                                                                      \
            shmem_sync(start, log_stride, size, barrier_words);                                    \
        }                                                                                          \
    }

#define ARITHMETIC(type, name)                                                                     \
    TEST_OP(type, name, sum, SUM_OF)                                                               \
    TEST_OP(type, name, prod, PROD_OF)
#define ORDERED(type, name)                                                                        \
    ARITHMETIC(type, name)                                                                         \
    TEST_OP(type, name, max, MAX_OF)                                                               \
    TEST_OP(type, name, min, MIN_OF)
#define BITWISE(type, name)                                                                        \
    ORDERED(type, name)                                                                            \
    TEST_OP(type, name, and, AND_OF)                                                               \
    TEST_OP(type, name, or, OR_OF)                                                                 \
    TEST_OP(type, name, xor, XOR_OF)

BITWISE(short, short)
BITWISE(int, int)
BITWISE(long, long)
BITWISE(long long, longlong)
ORDERED(float, float)
ORDERED(double, double)
ORDERED(long double, longdouble)
ARITHMETIC(float _Complex, complexf)
ARITHMETIC(double _Complex, complexd)

static void reductions(int start, int log_stride, int size)
{
#define RUN(name, op) name##_##op(start, log_stride, size);
#define RUN_ARITHMETIC(name) RUN(name, sum) RUN(name, prod)
#define RUN_ORDERED(name) RUN_ARITHMETIC(name) RUN(name, max) RUN(name, min)
#define RUN_BITWISE(name) RUN_ORDERED(name) RUN(name, and) RUN(name, or) RUN(name, xor)
    RUN_BITWISE(short)
    RUN_BITWISE(int)
    RUN_BITWISE(long)
    RUN_BITWISE(longlong)
    RUN_ORDERED(float)
    RUN_ORDERED(double)
    RUN_ORDERED(longdouble)
    RUN_ARITHMETIC(complexf)
    RUN_ARITHMETIC(complexd)
}

/* A barrier on a set synchronises it and completes what its members put. */
static void barriers(int start, int log_stride, int size)
{
    static long value;
    int stride = 1 << log_stride, my = (me - start) / stride;
    int next = start + (my + 1) % size * stride, previous = start + (my + size - 1) % size * stride;
    for (long round = 1; round < 50; round++) {
        shmem_long_put_nbi(&value, &(long){round * 100 + me}, 1, next);
        shmem_barrier(start, log_stride, size, barrier_words);
        CHECK(value == round * 100 + previous, "round %ld: %ld", round, value);
        shmem_sync(start, log_stride, size, barrier_words);
    }
}

/* Programs allocate a pSync, and forget the barrier between its initialisation and its first use: where the set is all
 * PEs, a late one holds no other. */
static void late_initialisation(void)
{
    enum { TIMES = 4 };
    for (int time = 0; time < TIMES; time++) {
        long *words = checked_malloc(SHMEM_BCAST_SYNC_SIZE * sizeof *words);
        source32[0] = (uint32_t)time;
        if (me == time % n)
            usleep(5000);
        for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
            words[i] = SHMEM_SYNC_VALUE;
        shmem_broadcast32(dest32, source32, 1, n - 1, 0, 0, n, words);
        CHECK(me == n - 1 || dest32[0] == (uint32_t)time, "%u", dest32[0]);
        shmem_barrier_all();
    }
}

static void on_set(int start, int log_stride, int size)
{
    int stride = 1 << log_stride, last = start + (size - 1) * stride;
    next_psync = 0; /* members and others count alike */
    if (size < 1 || last >= n)
        return;
    if (me >= start && me <= last && (me - start) % stride == 0) {
        barriers(start, log_stride, size);
        data_movement(start, log_stride, size);
        reductions(start, log_stride, size);
    }
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    for (int i = 0; i < PSYNCS; i++)
        for (int k = 0; k < SHMEM_SYNC_SIZE; k++)
            sync_words[i][k] = SHMEM_SYNC_VALUE;
    for (int k = 0; k < SHMEM_BARRIER_SYNC_SIZE; k++)
        barrier_words[k] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    late_initialisation();
    on_set(0, 0, n);
    shmem_barrier_all();
    restored();
    shmem_barrier_all();
    /* Even and odd PEs at the same time, with the same work arrays. */
    on_set(0, 1, (n + 1) / 2);
    on_set(1, 1, n / 2);
    shmem_barrier_all();
    restored();
    shmem_barrier_all();
    on_set(n / 3, 0, n - n / 3);
    shmem_barrier_all();
    on_set(0, 2, (n + 3) / 4);
    shmem_barrier_all();
    on_set(n - 1, 0, 1);
    shmem_barrier_all();
    restored();
    for (int k = 0; k < SHMEM_BARRIER_SYNC_SIZE; k++)
        CHECK(barrier_words[k] == SHMEM_SYNC_VALUE);
    return finish();
}
