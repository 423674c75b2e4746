/* A PE loads data after a flag that no fence orders.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's shmem_long_put at @put (run) and PE 1's load at @load (run) race
 * expect: the variable "data"+0x10 on PE 1 */
#include "../seeded.h"

static long data[4];
static int flag;
long total;

void run(void)
{
    long some[4] = {1, 2, 3, 4};
    if (me == 0) {
        shmem_long_put(data, some, 4, 1); /* @put */
        if (!fault) shmem_fence();
        shmem_int_p(&flag, 1, 1);
    } else {
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
        total += data[2]; /* @load */
    }
    shmem_barrier_all();
}
