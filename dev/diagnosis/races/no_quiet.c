/* A synchronisation that completes no puts.
 * check: race
 * expect: PE 0's shmem_double_put_nbi at @put (run) and PE 1's shmem_double_get at @get (run) race
 * expect: the variable "data" on PE 1 */
#include "../seeded.h"

static double data[4];

void run(void)
{
    static double some[4];
    double copy[4];
    if (me == 0) shmem_double_put_nbi(data, some, 4, 1); /* @put */
    if (!fault) shmem_quiet();
    shmem_sync_all();
    if (me == 1) shmem_double_get(copy, data, 4, 1); /* @get */
    shmem_barrier_all();
}
