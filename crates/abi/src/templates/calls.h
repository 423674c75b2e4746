/* How each family of routines is called, and the check of its result. Every PE works on its
 * neighbours `to` and `from`; N elements; values are small, so that they fit every type.
 * NAME is the routine, T its type or SIZE that of its elements, C its context argument. */
#include <pshmem.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 4 };

static int me, n, to, from;
static long calls, failures;
static shmem_ctx_t ctx;
/* Symmetric: two areas that hold 2 N elements of any type for every PE, and one signal. */
static unsigned char *area, *area2;
static uint64_t *signal_word;
static long p_sync[SHMEM_SYNC_SIZE];

/* Compiled once, and not into each of the calls: those are thousands. */
#define ALONE static __attribute__((noinline, unused))

#define NO_CTX
#define CTX ctx,

ALONE void check(int ok, const char *name) {
    calls++;
    if (!ok) {
        failures++;
        printf("PE %d of %d: %s: wrong result\n", me, n, name);
    }
}

ALONE void complete(void) {
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

/* Clears the areas, after all PEs have finished the previous test and before any begins the next. */
ALONE void begin(void) {
    shmem_barrier_all();
    memset(area, 0, 64 * (size_t)n * N);
    memset(area2, 0, 64 * (size_t)n * N);
    *signal_word = 0;
    shmem_barrier_all();
}

ALONE unsigned char byte_of(int pe, size_t i) {
    return (unsigned char)(pe * 7 + (int)i + 1);
}

ALONE void fill(unsigned char *at, int pe, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) at[i] = byte_of(pe, i);
}

ALONE int filled(const unsigned char *at, int pe, size_t first, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(pe, first + i)) return 0;
    return 1;
}

ALONE int zero(const unsigned char *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0) return 0;
    return 1;
}

/* Each is in thousands of calls: compilers would spend half of their time on unrolling them. */
#ifdef __clang__
#define SMALL_LOOP _Pragma("clang loop unroll(disable) vectorize(disable) interleave(disable)")
#else
#define SMALL_LOOP _Pragma("GCC unroll 1")
#endif

ALONE int value_of(int pe) {
    return pe % 50 + 1;
}

#define OF(T, pe, i) ((T)(value_of(pe) + (int)(i)))
#define FILL(T, at, pe) \
    SMALL_LOOP for (int i_ = 0, value_ = value_of(pe); i_ < N; i_++) (at)[i_] = (T)(value_ + i_)
#define ALL(ok, i, count, condition) \
    int ok = 1;                      \
    SMALL_LOOP for (int i = 0; i < (count); i++) ok = ok && (condition)

/* Symmetric memory and neighbours, once the library is initialised. */
ALONE void set_up(void) {
    me = shmem_my_pe();
    n = shmem_n_pes();
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    area = (unsigned char *)shmem_malloc(64 * (size_t)n * N);
    area2 = (unsigned char *)shmem_malloc(64 * (size_t)n * N);
    signal_word = (uint64_t *)shmem_calloc(1, sizeof *signal_word);
    for (size_t i = 0; i < SHMEM_SYNC_SIZE; i++) p_sync[i] = SHMEM_SYNC_VALUE;
    if (area == NULL || area2 == NULL || signal_word == NULL
        || shmem_ctx_create(0, &ctx) != 0) {
        fprintf(stderr, "PE %d: cannot set up the test\n", me);
        shmem_global_exit(2);
    }
}

/* Sums up over all PEs and prints the sums on PE 0; 0 if nothing failed. */
ALONE int summary(const char *what) {
    static long mine[2], all[2];
    mine[0] = calls;
    mine[1] = failures;
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 2);
    if (me == 0)
        printf("%s: %ld checks on each of %d PEs: %ld passed, %ld failed\n", what, calls, n,
               all[0] - all[1], all[1]);
    fflush(stdout);
    return all[1] != 0;
}

#include "calls/rma.h"
#include "calls/amo.h"
#include "calls/signals.h"
#include "calls/collectives.h"
#include "calls/p2p.h"
