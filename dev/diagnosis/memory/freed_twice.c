/* A block is freed twice.
 * check: memory
 * expect: shmem_free at @again (run) frees the block of 48 bytes of shmem_malloc at @block (run) again, after shmem_free at @free (run) */
#include "../seeded.h"

void run(void)
{
    void *block = shmem_malloc(48); /* @block */
    shmem_free(block); /* @free */
    if (fault) shmem_free(block); /* @again */
}
