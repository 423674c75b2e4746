/* Strided and block copies as `shmem.h` expands them: few elements are copied in the program, many by the library, and
 * a thread that lends itself takes part in those. With the argument "helped", it must. */
#include "check.h"

#include <shmemx.h>

#include <pthread.h>
#include <semaphore.h>

enum {
    MOST = 1 << 17, /* elements */
    APART = 2,
    BLOCK = 4,
    LONG_BLOCK = 1000,
};

static long source[APART * MOST], dest[APART * MOST], back[APART * MOST];
static uint8_t small_source[APART * MOST], small_dest[APART * MOST];

/* A thread lends itself while `until` is 0, from one post of `begin` to the next of `end`. */
static sem_t begin, end;
static int until, taken, is_over;

static void *lend(void *unused)
{
    for (;;) {
        sem_wait(&begin);
        if (is_over)
            return unused;
        taken = shmemx_thread_lend(&until, -1);
        sem_post(&end);
    }
}

/* An operation on `count` elements, and the element of `source` that is at `i` of the array that it writes, or -1. */
struct operation {
    const char *name;
    void (*run)(size_t count, int pe);
    long (*from)(long i, size_t count);
    long *array;
};

static shmem_ctx_t ctx;
static volatile size_t four = BLOCK, thousand = LONG_BLOCK; /* no constants for the compiler */

static long at_even(long i, size_t count) { return i % APART == 0 && i / APART < (long)count ? i / APART : -1; }
static long of_even(long i, size_t count) { return i < (long)count ? APART * i : -1; }
static long turned(long i, size_t count) { return i < (long)count ? (long)count - 1 - i : -1; }

static void iput(size_t count, int pe) { shmem_long_iput(dest, source, APART, 1, count, pe); }
static void iput64(size_t count, int pe) { shmem_ctx_iput64(ctx, dest, source, APART, 1, count, pe); }
static void iget(size_t count, int pe) { shmem_long_iget(back, source, 1, APART, count, pe); }
static void ctx_iget(size_t count, int pe) { shmem_ctx_long_iget(ctx, back, source, 1, APART, count, pe); }
static void iget_back(size_t count, int pe)
{
    if (count > 0)
        shmem_long_iget(back + count - 1, source, -1, 1, count, pe);
}

static long in_blocks(long i, size_t count, long block, long to_apart, long from_apart)
{
    const long number = i / to_apart, within = i % to_apart;
    return within < block && number < (long)count / block ? number * from_apart + within : -1;
}
static long put_blocks(long i, size_t count) { return in_blocks(i, count, BLOCK, 2 * BLOCK, BLOCK); }
static long got_blocks(long i, size_t count) { return in_blocks(i, count, BLOCK, BLOCK, 2 * BLOCK); }
static long put_long(long i, size_t count) { return in_blocks(i, count, LONG_BLOCK, LONG_BLOCK + 8, LONG_BLOCK); }

static void ibput(size_t count, int pe)
{
    shmem_long_ibput(dest, source, 2 * BLOCK, BLOCK, BLOCK, count / BLOCK, pe);
}
static void ibput_any(size_t count, int pe)
{
    shmem_ctx_ibput64(ctx, dest, source, 2 * BLOCK, BLOCK, four, count / BLOCK, pe);
}
static void ibput_long(size_t count, int pe)
{
    shmem_long_ibput(dest, source, LONG_BLOCK + 8, LONG_BLOCK, thousand, count / LONG_BLOCK, pe);
}
static void ibget(size_t count, int pe)
{
    shmem_ibget64(back, source, BLOCK, 2 * BLOCK, BLOCK, count / BLOCK, pe);
}
static void ibget_any(size_t count, int pe)
{
    shmem_ctx_long_ibget(ctx, back, source, BLOCK, 2 * BLOCK, four, count / BLOCK, pe);
}

static void inlined_blocks(void *to, const void *of, ptrdiff_t dst, ptrdiff_t sst, size_t length, size_t count, int pe)
{
    shmem_ibput8(to, of, dst, sst, length, count, pe);
}
static void (*volatile library_blocks)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int) = shmem_ibput8;

static const struct operation operations[] = {
    {"iput", iput, at_even, dest},           {"iput64", iput64, at_even, dest},
    {"iget", iget, of_even, back},           {"ctx_iget", ctx_iget, of_even, back},
    {"iget_back", iget_back, turned, back},  {"ibput", ibput, put_blocks, dest},
    {"ibput_any", ibput_any, put_blocks, dest}, {"ibput_long", ibput_long, put_long, dest},
    {"ibget", ibget, got_blocks, back},      {"ibget_any", ibget_any, got_blocks, back},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static long value(int pe, long i) { return pe * 1000003L + 7 * i + 1; }

/* A put comes from `from`, a get from `pe`. */
static void check(const struct operation *o, size_t count, int from, int pe)
{
    const int other = o->array == dest ? from : pe;
    int wrong = 0;
    for (long i = 0; i < APART * MOST; i++) {
        const long index = o->from(i, count);
        wrong += o->array[i] != (index < 0 ? 0 : value(other, index));
    }
    CHECK(wrong == 0, "%s: %d of %zu elements", o->name, wrong, count);
}

static void clear(void)
{
    memset(dest, 0, sizeof dest);
    memset(back, 0, sizeof back);
}

/* On both sides of where the library is called. */
static void check_counts(const struct operation *o, int pe, int from)
{
    static const size_t counts[] = {0, 1, 2, 7, 2000, 2047, 2048, 2049, 4096, 8000, 8192, 8193, 10000, MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        clear();
        shmem_barrier_all();
        o->run(counts[c], pe);
        shmem_barrier_all();
        check(o, counts[c], from, pe);
        shmem_barrier_all();
    }
}

/* Repeats an operation until the thread has taken a chunk of it, which is as if it had not. */
static void check_helped(const struct operation *o, int pe, int from)
{
    taken = 0;
    clear();
    shmem_barrier_all();
    while (taken == 0) {
        __atomic_store_n(&until, 0, __ATOMIC_RELAXED);
        sem_post(&begin);
        for (int i = 0; i < 10; i++)
            o->run(MOST, pe);
        __atomic_store_n(&until, 1, __ATOMIC_RELEASE);
        sem_wait(&end);
    }
    shmem_barrier_all();
    check(o, MOST, from, pe);
    shmem_barrier_all();
}

/* Blocks of every length up to some elements, in the program and in the library: bytes of a side that are in no block
 * stay. */
static void check_block_lengths(int me, int pe, int from)
{
    enum { LONGEST = 70, TO = 75, FROM = 71, COUNT = 1000 };
    static const size_t counts[] = {3, COUNT};
    for (int i = 0; i < APART * MOST; i++)
        small_source[i] = (uint8_t)(me * 31 + i * 7 + i / 253);
    for (size_t length = 0; length <= LONGEST; length++)
        for (int c = 0; c < 2; c++) {
            memset(small_dest, 0, sizeof small_dest);
            shmem_barrier_all();
            (c ? library_blocks : inlined_blocks)(small_dest, small_source, TO, FROM, length, counts[c], pe);
            shmem_barrier_all();
            int wrong = 0;
            for (int i = 0; i < TO * (COUNT + 1); i++) {
                const int block = i / TO, within = i % TO, of = block * FROM + within;
                const int is_there = block < (int)counts[c] && within < (int)length;
                wrong += small_dest[i] != (is_there ? (uint8_t)(from * 31 + of * 7 + of / 253) : 0);
            }
            CHECK(wrong == 0, "%d bytes of %zu blocks of %zu", wrong, counts[c], length);
            shmem_barrier_all();
        }
}

/* Elements of one byte, of which many are few bytes, and numbers that are constants. */
static void check_small(int me, int pe, int from)
{
    for (int i = 0; i < APART * MOST; i++)
        small_source[i] = (uint8_t)(me * 31 + i * 7 + i / 253);
    memset(small_dest, 0, sizeof small_dest);
    shmem_barrier_all();
    shmem_iput8(small_dest, small_source, APART, 1, MOST, pe);
    shmem_barrier_all();
    int wrong = 0;
    for (int i = 0; i < APART * MOST; i++) {
        const int of = i / APART;
        wrong += small_dest[i] != (i % APART ? 0 : (uint8_t)(from * 31 + of * 7 + of / 253));
    }
    CHECK(wrong == 0, "%d", wrong);
    clear();
    shmem_barrier_all();
    shmem_long_iput(dest, source, APART, 1, 8, pe);
    shmem_long_iget(back, source, 1, APART, MOST, pe);
    shmem_barrier_all();
    check(&operations[0], 8, from, pe);
    check(&operations[2], MOST, from, pe);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    int provided;
    REQUIRE(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    const int pe = (me + 1) % pes, from = (me + pes - 1) % pes;
    const int must_help = argc > 1 && strcmp(argv[1], "helped") == 0;
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);
    for (long i = 0; i < APART * MOST; i++)
        source[i] = value(me, i);
    pthread_t helper;
    REQUIRE(sem_init(&begin, 0, 0) == 0 && sem_init(&end, 0, 0) == 0);
    REQUIRE(pthread_create(&helper, NULL, lend, NULL) == 0);
    for (int o = 0; o < OPERATIONS; o++) {
        check_counts(&operations[o], pe, from);
        if (must_help)
            check_helped(&operations[o], pe, from);
    }
    check_block_lengths(me, pe, from);
    check_small(me, pe, from);
    is_over = 1;
    sem_post(&begin);
    REQUIRE(pthread_join(helper, NULL) == 0);
    shmem_ctx_destroy(ctx);
    return finish();
}
