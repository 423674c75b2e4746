/* A put goes to a block that was freed.
 * check: memory
 * expect: shmem_long_p at @put (run) writes 8 bytes on PE
 * expect: of the block of 24 bytes of shmem_malloc at @block (run), after shmem_free at @free (run) */
#include "../seeded.h"

void run(void)
{
    long *block = shmem_malloc(24); /* @block */
    if (!fault) shmem_long_p(block + 1, 7, next);
    shmem_free(block); /* @free */
    if (fault) shmem_long_p(block + 1, 7, next); /* @put */
    shmem_barrier_all();
}
