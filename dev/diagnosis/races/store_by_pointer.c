/* Stores to another PE's memory by a pointer of its own.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's store at @store (run) and PE 1's load at @load (run) race
 * expect: the variable "data"+0x8 on PE 1
 * expect: PE 0's store at @heap (run) and PE 1's shmem_long_get at @get (run) race
 * expect: byte 16 of the block of 32 bytes of shmem_malloc */
#include "../seeded.h"

static long data[2];
long total;

void run(void)
{
    long *block = shmem_malloc(4 * sizeof(long)), copy[4];
    if (me == 0) {
        long *variable = shmem_ptr(data, 1), *of_block = shmem_ptr(block, 1);
        variable[1] = 1; /* @store */
        of_block[2] = 1; /* @heap */
    }
    if (!fault) shmem_barrier_all();
    if (me == 1) {
        total += data[1]; /* @load */
        shmem_long_get(copy, block, 4, 1); /* @get */
    }
    shmem_barrier_all();
    shmem_free(block);
}
