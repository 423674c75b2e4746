/* PEs take different locks for the same data.
 * check: race
 * expect: shmem_long_p at @put (run) race: both write the variable "total" on PE 0 */
#include "../seeded.h"

static long locks[4], total;

void run(void)
{
    long *lock = &locks[fault ? me : 0];
    shmem_set_lock(lock);
    shmem_long_p(&total, me, 0); /* @put */
    shmem_clear_lock(lock);
    shmem_barrier_all();
}
