/* Nothing orders the data before the flag.
 * check: race
 * expect: PE 0's shmem_long_put at @put (run) and PE 1's shmem_long_get at @get (run) race
 * expect: the variable "data" on PE 1 */
#include "../seeded.h"

static long data[4];
static int flag;

void run(void)
{
    long some[4] = {1, 2, 3, 4}, copy[4];
    if (me == 0) {
        shmem_long_put(data, some, 4, 1); /* @put */
        if (!fault) shmem_fence();
        shmem_int_p(&flag, 1, 1);
    } else {
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
        shmem_long_get(copy, data, 4, 1); /* @get */
    }
    shmem_barrier_all();
}
