/* PE 1 stores into a block that was freed.
 * check: memory
 * expect: PE 1: the block of 40 bytes of shmem_malloc at @block (run) was written after shmem_free at @free (run) */
#include "../seeded.h"

void run(void)
{
    int *volatile block = shmem_malloc(10 * sizeof(int)); /* @block */
    int *pointer = block;
    block[2] = 5;
    shmem_free(block); /* @free */
    if (fault && me == 1) *(volatile int *)(pointer + 2) = 6;
}
