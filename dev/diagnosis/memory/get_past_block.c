/* A get reads more than there is.
 * check: memory
 * expect: shmem_double_get at @get (run) reads 8 bytes past the end of the block of 32 bytes of shmem_calloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    double *block = shmem_calloc(4, sizeof(double)); /* @block */
    double copy[5];
    shmem_double_get(copy, block, fault ? 5 : 4, next); /* @get */
    shmem_barrier_all();
    shmem_free(block);
}
