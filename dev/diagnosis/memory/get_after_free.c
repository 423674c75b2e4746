/* A get reads a block that was freed.
 * check: memory
 * expect: shmem_getmem at @get (main) reads 24 bytes on PE
 * expect: of the block of 24 bytes of shmem_calloc at @block (main), after shmem_free at @free (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    char copy[24];
    char *block = shmem_calloc(24, 1); /* @block */
    if (!fault) shmem_getmem(copy, block, 24, next);
    shmem_free(block); /* @free */
    if (fault) shmem_getmem(copy, block, 24, next); /* @get */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
