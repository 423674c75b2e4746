/* A put begins before its block.
 * check: memory
 * expect: shmem_putmem at @put (run) writes 16 bytes before the start of the block of 4096 bytes of shmem_align at @block (run) */
#include "../seeded.h"

void run(void)
{
    void *first = shmem_malloc(1 << 20);
    char *block = shmem_align(4096, 4096); /* @block */
    char source[16] = "0123456789abcde";
    shmem_putmem(fault ? block - 16 : block, source, 16, next); /* @put */
    shmem_barrier_all();
    shmem_free(block);
    shmem_free(first);
}
