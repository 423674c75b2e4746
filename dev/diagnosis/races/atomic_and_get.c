/* A counter is read by a get while others add to it.
 * check: race
 * expect: shmem_int_atomic_inc at @add (run)
 * expect: shmem_int_g at @get (run)
 * expect: the variable "counter" on PE 0 */
#include "../seeded.h"

static int counter;

void run(void)
{
    if (me == 1) {
        if (fault) (void)shmem_int_g(&counter, 0); /* @get */
        else (void)shmem_int_atomic_fetch(&counter, 0);
    } else {
        shmem_int_atomic_inc(&counter, 0); /* @add */
    }
    shmem_barrier_all();
}
