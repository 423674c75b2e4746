/* One of two PEs takes no lock.
 * check: race
 * expect: shmem_long_g at @get (run)
 * expect: shmem_long_p at @put (run)
 * expect: the variable "total" on PE 0 */
#include "../seeded.h"

static long lock, total;

void run(void)
{
    if (!fault || me == 0) shmem_set_lock(&lock);
    long value = shmem_long_g(&total, 0); /* @get */
    shmem_long_p(&total, value + 1, 0); /* @put */
    if (!fault || me == 0) shmem_clear_lock(&lock);
    shmem_barrier_all();
}
