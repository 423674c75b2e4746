/* A block is reallocated after it was freed; what it has then is the program's again.
 * check: memory
 * expect: shmem_realloc at @again (run) reads 64 bytes on PE
 * expect: of the block of 64 bytes of shmem_malloc at @malloc (run), after shmem_free at @free (run) */
#include "../seeded.h"

void run(void)
{
    char *block = shmem_malloc(64); /* @malloc */
    if (fault) shmem_free(block); /* @free */
    block = shmem_realloc(block, 128); /* @again */
    memset(block, 1, 128);
    /* Enough that the checks give back what they have kept. */
    for (int i = 0; i < 100; i++) shmem_free(shmem_malloc(64));
    for (int i = 0; i < 128; i++)
        if (block[i] != 1) shmem_global_exit(3);
    shmem_free(block);
}
