/* The last element of a strided put is behind the block.
 * check: memory
 * expect: shmem_int_iput at @put (run) writes 4 bytes past the end of the block of 40 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    int *block = shmem_malloc(10 * sizeof(int)); /* @block */
    int source[4] = {1, 2, 3, 4};
    shmem_int_iput(block + 1, source, 3, 1, fault ? 4 : 3, next); /* @put */
    shmem_barrier_all();
    shmem_free(block);
}
