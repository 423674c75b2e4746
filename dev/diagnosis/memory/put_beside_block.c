/* Numbers are put from the end of a block on.
 * check: memory
 * expect: shmem_long_p at @put (run) writes 8 bytes past the end of the block of 80 bytes of shmem_calloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    long *block = shmem_calloc(10, sizeof(long)); /* @block */
    shmem_barrier_all();
    shmem_long_p(&block[fault ? 10 : 9], 7, next); /* @put */
    shmem_barrier_all();
    shmem_free(block);
}
