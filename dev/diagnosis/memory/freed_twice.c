/* A block is freed twice.
 * check: memory
 * expect: shmem_free at @again (main) frees the block of 48 bytes of shmem_malloc at @block (main) again, after shmem_free at @free (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    void *block = shmem_malloc(48); /* @block */
    shmem_free(block); /* @free */
    if (fault) shmem_free(block); /* @again */
    shmem_finalize();
    return 0;
}
