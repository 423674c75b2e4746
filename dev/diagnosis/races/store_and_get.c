/* A PE gets what another has stored since the barrier.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: 's store at @store (run)
 * expect: shmem_double_get at @get (run)
 * expect: byte 16 of the block of 64 bytes of shmem_calloc at @block (run) on PE 1 */
#include "../seeded.h"

void run(void)
{
    double *data = shmem_calloc(8, sizeof(double)); /* @block */
    double copy[4];
    if (me == 1) data[2] = 5; /* @store */
    if (!fault) shmem_barrier_all();
    if (me == 0) shmem_double_get(copy, data, 4, 1); /* @get */
    shmem_barrier_all();
    shmem_free(data);
}
