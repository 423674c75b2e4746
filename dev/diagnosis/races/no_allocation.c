/* An allocation without bytes, which synchronises nothing, is taken for a barrier.
 * check: race
 * expect: PE 0's shmem_int_put at @put (run) and PE 1's shmem_int_get at @get (run) race
 * expect: the variable "data" on PE 1 */
#include "../seeded.h"

static int data[4];

void run(void)
{
    int some[4] = {1, 2, 3, 4};
    if (me == 0) shmem_int_put(data, some, 4, 1); /* @put */
    void *block = shmem_malloc(fault ? 0 : 64);
    if (me == 1) shmem_int_get(some, data, 4, 1); /* @get */
    shmem_free(block);
    shmem_barrier_all();
}
