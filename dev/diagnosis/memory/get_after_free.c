/* A get reads a block that was freed.
 * check: memory
 * expect: shmem_getmem at @get (run) reads 24 bytes on PE
 * expect: of the block of 24 bytes of shmem_calloc at @block (run), after shmem_free at @free (run) */
#include "../seeded.h"

void run(void)
{
    char copy[24];
    char *block = shmem_calloc(24, 1); /* @block */
    if (!fault) shmem_getmem(copy, block, 24, next);
    shmem_free(block); /* @free */
    if (fault) shmem_getmem(copy, block, 24, next); /* @get */
    shmem_barrier_all();
}
