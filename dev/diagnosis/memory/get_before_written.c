/* A get reads what nobody has written.
 * check: memory
 * expect: shmem_long_get at @get (main) reads 24 bytes on PE
 * expect: that nobody has written: byte 8 of the block of 64 bytes of shmem_malloc at @block (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    long *block = shmem_malloc(8 * sizeof(long)); /* @block */
    long copy[3];
    if (!fault) memset(block, 0, 8 * sizeof(long));
    shmem_barrier_all();
    shmem_long_get(copy, block + 1, 3, next); /* @get */
    shmem_barrier_all();
    shmem_free(block);
    shmem_finalize();
    return 0;
}
