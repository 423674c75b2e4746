/* A counter is reset by a put while others add to it.
 * check: race
 * expect: shmem_long_atomic_add at @add (run)
 * expect: shmem_long_p at @put (run)
 * expect: race: both write the variable "counter" on PE 0 */
#include "../seeded.h"

static long counter;

void run(void)
{
    if (me == 1) {
        if (fault) shmem_long_p(&counter, 0, 0); /* @put */
        else shmem_long_atomic_set(&counter, 0, 0);
    } else {
        shmem_long_atomic_add(&counter, 1, 0); /* @add */
    }
    shmem_barrier_all();
}
