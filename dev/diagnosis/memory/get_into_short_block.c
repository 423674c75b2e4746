/* A get writes more than its own block has room for.
 * check: memory
 * expect: shmem_long_get at @get (main) writes 16 bytes past the end of the block of 16 bytes of shmem_malloc at @block (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    long *source = shmem_calloc(4, sizeof(long));
    long *block = shmem_malloc(2 * sizeof(long)); /* @block */
    shmem_long_get(block, source, fault ? 4 : 2, next); /* @get */
    shmem_barrier_all();
    shmem_free(block);
    shmem_free(source);
    shmem_finalize();
    return 0;
}
