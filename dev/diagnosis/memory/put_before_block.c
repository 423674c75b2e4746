/* A put begins before its block.
 * check: memory
 * expect: shmem_putmem at @put (main) writes 16 bytes before the start of the block of 4096 bytes of shmem_align at @block (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    void *first = shmem_malloc(1 << 20);
    char *block = shmem_align(4096, 4096); /* @block */
    char source[16] = "0123456789abcde";
    shmem_putmem(fault ? block - 16 : block, source, 16, next); /* @put */
    shmem_barrier_all();
    shmem_free(block);
    shmem_free(first);
    shmem_finalize();
    return 0;
}
