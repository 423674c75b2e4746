/* A counter is not zero at first.
 * check: memory
 * expect: shmem_long_atomic_fetch_add at @add (run) reads 8 bytes on PE 0 that nobody has written: byte 0 of the block of 8 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    long *counter = shmem_malloc(sizeof *counter); /* @block */
    if (!fault) *counter = 0;
    shmem_barrier_all();
    shmem_long_atomic_fetch_add(counter, 1, 0); /* @add */
    shmem_barrier_all();
    shmem_free(counter);
}
