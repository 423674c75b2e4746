/* An atomic without a result, which a synchronisation does not complete.
 * check: race
 * expect: PE 0's shmem_long_atomic_add at @add (run) and PE 1's shmem_long_get at @get (run) race
 * expect: the variable "total" on PE 1 */
#include "../seeded.h"

static long total;

void run(void)
{
    long copy = 0;
    if (me == 0) shmem_long_atomic_add(&total, 5, 1); /* @add */
    if (!fault) shmem_quiet();
    shmem_sync_all();
    if (me == 1) shmem_long_get(&copy, &total, 1, 1); /* @get */
    shmem_barrier_all();
}
