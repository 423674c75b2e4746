/* An atomic goes where no block is.
 * check: memory
 * expect: shmem_long_atomic_inc at @inc (run) writes 8 bytes on PE
 * expect: of the symmetric heap, where no block is */
#include "../seeded.h"

void run(void)
{
    long *counter = shmem_calloc(1, sizeof(long));
    shmem_long_atomic_inc(fault ? counter + 5000 : counter, next); /* @inc */
    shmem_barrier_all();
    shmem_free(counter);
}
