/* Each PE counts its own calls and bytes by routine, and prints them: what profile, trace and counters must say, too.
 * Its argument is the number of single-word puts. */

#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 100, BLOCKS = 60, BLOCK = 65536, ROUTINES = 64 };

static struct {
    const char *name;
    unsigned long calls, bytes;
} counted[ROUTINES];

static long word, from[BLOCK / sizeof(long)], to[BLOCK / sizeof(long)];
static uint64_t arrived;

static void add(const char *name, unsigned long calls, unsigned long bytes) {
    int i = 0;
    while (counted[i].name && strcmp(counted[i].name, name))
        i++;
    counted[i].name = name;
    counted[i].calls += calls;
    counted[i].bytes += calls * bytes;
}

/* Calls a routine so often, each time with so many bytes. */
#define CALL(times, bytes, routine, ...)        \
    do {                                        \
        for (long i = 0; i < (times); i++)      \
            (void)routine(__VA_ARGS__);         \
        add(#routine, (times), (bytes));        \
    } while (0)

int main(int argc, char **argv) {
    const long singles = argc > 1 ? atol(argv[1]) : TIMES;
    shmem_init();
    const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    CALL(1, 0, shmem_barrier_all);
    shmemx_counter_reset();
    CALL(singles, sizeof word, shmem_long_p, &word, i, next);
    CALL(BLOCKS, BLOCK, shmem_putmem, to, from, BLOCK, next);
    CALL(TIMES, sizeof(int), shmem_int_p, (int *)to, 1, me);
    CALL(TIMES, 128, shmem_long_put, to, from, 16, next);
    CALL(TIMES, 40, shmem_put64, to, from, 5, next);
    CALL(TIMES, 40, shmem_long_iput, to, from, 2, 3, 5, next);
    CALL(TIMES, 24, shmem_long_put_nbi, to, from, 3, next);
    CALL(TIMES, 56, shmem_ctx_long_put, SHMEM_CTX_DEFAULT, to, from, 7, next);
    CALL(TIMES, 0, shmem_putmem, to, from, 0, next);
    CALL(TIMES, 16, shmem_long_put_signal, to, from, 2, &arrived, 1, SHMEM_SIGNAL_ADD, next);
    CALL(TIMES, sizeof word, shmem_long_g, &word, next);
    CALL(TIMES, 1000, shmem_getmem, to, from, 1000, next);
    CALL(TIMES, 2000, shmem_getmem_nbi, to, from, 2000, next);
    CALL(TIMES, 24, shmem_long_iget, to, from, 1, 2, 3, next);
    CALL(TIMES, 8, shmem_long_atomic_add, &word, 1, next);
    CALL(TIMES, 8, shmem_long_atomic_fetch_add, &word, 1, next);
    CALL(TIMES, 8, shmem_long_atomic_compare_swap, &word, 1, 2, next);
    CALL(TIMES, 4, shmem_int_atomic_inc, (int *)to, next);
    CALL(TIMES, 8, shmem_uint64_atomic_fetch_xor, &arrived, 3, me);
    CALL(TIMES, 0, shmem_fence);
    CALL(TIMES, 0, shmem_quiet);
    CALL(3, 0, shmem_barrier_all);
    printf("counter put %lu %lu get %lu %lu atomic %lu\n",
           (unsigned long)shmemx_counter_read(SHMEMX_COUNTER_PUT, SHMEMX_COUNTER_OPERATIONS),
           (unsigned long)shmemx_counter_read(SHMEMX_COUNTER_PUT, SHMEMX_COUNTER_BYTES),
           (unsigned long)shmemx_counter_read(SHMEMX_COUNTER_GET, SHMEMX_COUNTER_OPERATIONS),
           (unsigned long)shmemx_counter_read(SHMEMX_COUNTER_GET, SHMEMX_COUNTER_BYTES),
           (unsigned long)shmemx_counter_read(SHMEMX_COUNTER_ATOMIC, SHMEMX_COUNTER_OPERATIONS));
    for (int i = 0; counted[i].name; i++)
        printf("count %d %s %lu %lu\n", me, counted[i].name, counted[i].calls, counted[i].bytes);
    shmem_finalize();
    return 0;
}
