/* A PE gets a counter that it has added to, and not completed.
 * check: race
 * expect: PE 1's shmem_long_atomic_add at @add (run) and its shmem_long_g at @get (run) race: the first writes, and
 * expect: the variable "counter" on PE 0 */
#include "../seeded.h"

static long counter;
long total;

void run(void)
{
    if (me == 1) {
        shmem_long_atomic_add(&counter, 2, 0); /* @add */
        if (!fault) shmem_quiet();
        total += shmem_long_g(&counter, 0); /* @get */
    }
    shmem_barrier_all();
}
