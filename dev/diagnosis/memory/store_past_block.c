/* PE 1 stores behind its block.
 * check: memory
 * expect: PE 1: past the end of the block of 40 bytes of shmem_malloc at @block (run), memory was overwritten before shmem_barrier_all at @barrier (run)
 * expect: byte 40 of the block */
#include "../seeded.h"

void run(void)
{
    int *block = shmem_malloc(10 * sizeof(int)); /* @block */
    for (int i = 0; i < 10 + (fault && me == 1); i++) ((volatile int *)block)[i] = i;
    shmem_barrier_all(); /* @barrier */
    shmem_free(block);
}
