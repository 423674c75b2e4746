/* A put is one element longer than the block that it goes to.
 * check: memory
 * expect: shmem_long_put at @put (run) writes 8 bytes past the end of the block of 64 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    long *block = shmem_malloc(8 * sizeof(long)); /* @block */
    long source[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    shmem_long_put(block, source, fault ? 9 : 8, next); /* @put */
    shmem_barrier_all();
    shmem_free(block);
}
