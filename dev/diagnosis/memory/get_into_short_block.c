/* A get writes more than its own block has room for.
 * check: memory
 * expect: shmem_long_get at @get (run) writes 16 bytes past the end of the block of 16 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    long *source = shmem_calloc(4, sizeof(long));
    long *block = shmem_malloc(2 * sizeof(long)); /* @block */
    shmem_long_get(block, source, fault ? 4 : 2, next); /* @get */
    shmem_barrier_all();
    shmem_free(block);
    shmem_free(source);
}
