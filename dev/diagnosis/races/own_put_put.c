/* Two puts of a PE to the same place, of which either may be the last.
 * check: race
 * expect: PE 0's shmem_long_p at @put (run) and its shmem_long_p at @put (run) race: both write
 * expect: the variable "step" on PE 1
 * expect: or shmem_fence if both are puts */
#include "../seeded.h"

static long step, again;

void run(void)
{
    for (long i = 1; me == 0 && i <= 3; i++) {
        shmem_long_p(&step, i, 1); /* @put */
        if (!fault) shmem_fence();
        /* The same each time: that is no fault. */
        shmem_long_p(&again, 7, 1);
    }
    shmem_barrier_all();
}
