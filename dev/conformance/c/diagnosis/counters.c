/* What is counted, as its argument says: "on", "off", or "long", which goes on until a file is there. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMES 1000

static long word, lock, block[16];

static void expect(int kind, int quantity, uint64_t least, uint64_t most)
{
    const uint64_t is = shmemx_counter_read(kind, quantity);
    if (is < least || is > most) {
        fprintf(stderr, "kind %d, quantity %d: %llu, not %llu to %llu\n", kind, quantity,
                (unsigned long long)is, (unsigned long long)least, (unsigned long long)most);
        shmem_global_exit(3);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "off";
    shmem_init();
    const int next = (shmem_my_pe() + 1) % shmem_n_pes();
    shmem_barrier_all();
    shmemx_counter_reset();
    for (int i = 0; i < TIMES; i++) {
        shmem_long_p(&word, i, next);
        shmem_long_get(block, block, 16, next);
        shmem_long_atomic_inc(&word, next);
        shmem_fence();
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
        shmem_quiet();
    }
    shmem_barrier_all();
    const uint64_t n = strcmp(how, "off") ? TIMES : 0;
    expect(SHMEMX_COUNTER_PUT, SHMEMX_COUNTER_OPERATIONS, n, n);
    expect(SHMEMX_COUNTER_PUT, SHMEMX_COUNTER_BYTES, n * sizeof word, n * sizeof word);
    expect(SHMEMX_COUNTER_GET, SHMEMX_COUNTER_OPERATIONS, n, n);
    expect(SHMEMX_COUNTER_GET, SHMEMX_COUNTER_BYTES, n * sizeof block, n * sizeof block);
    expect(SHMEMX_COUNTER_ATOMIC, SHMEMX_COUNTER_OPERATIONS, n, n);
    expect(SHMEMX_COUNTER_COLLECTIVE, SHMEMX_COUNTER_OPERATIONS, n != 0, n != 0);
    expect(SHMEMX_COUNTER_COLLECTIVE, SHMEMX_COUNTER_NANOSECONDS, n != 0, n ? UINT64_MAX : 0);
    /* Of locks that other PEs hold, the library waits for the end. */
    expect(SHMEMX_COUNTER_LOCK, SHMEMX_COUNTER_OPERATIONS, 2 * n, 2 * n);
    expect(SHMEMX_COUNTER_QUIET, SHMEMX_COUNTER_OPERATIONS, 2 * n, 2 * n);
    expect(SHMEMX_COUNTER_ALL, SHMEMX_COUNTER_OPERATIONS, n ? 7 * n + 1 : 0, n ? 7 * n + 1 : 0);
    if (!strcmp(how, "long")) {
        if (shmem_my_pe() == 0) {
            printf("counted\n");
            fflush(stdout);
            while (access(argv[2], F_OK) != 0)
                usleep(10000);
        }
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
