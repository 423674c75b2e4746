/* A get reads what nobody has written.
 * check: memory
 * expect: shmem_long_get at @get (run) reads 24 bytes on PE
 * expect: that nobody has written: byte 8 of the block of 64 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    long *block = shmem_malloc(8 * sizeof(long)); /* @block */
    long copy[3];
    if (!fault) memset(block, 0, 8 * sizeof(long));
    shmem_barrier_all();
    shmem_long_get(copy, block + 1, 3, next); /* @get */
    shmem_barrier_all();
    shmem_free(block);
}
