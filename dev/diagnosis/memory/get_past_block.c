/* A get reads more than there is.
 * check: memory
 * expect: shmem_double_get at @get (main) reads 8 bytes past the end of the block of 32 bytes of shmem_calloc at @block (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    double *block = shmem_calloc(4, sizeof(double)); /* @block */
    double copy[5];
    shmem_double_get(copy, block, fault ? 5 : 4, next); /* @get */
    shmem_barrier_all();
    shmem_free(block);
    shmem_finalize();
    return 0;
}
