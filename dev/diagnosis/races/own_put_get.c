/* A PE gets what it has put, and not completed.
 * check: race
 * expect: PE 0's shmem_long_put at @put (run) and its shmem_long_g at @get (run) race: the first writes, and the second
 * expect: the variable "data"+0x18 on PE 1
 * expect: nothing orders them: shmem_quiet or a barrier would */
#include "../seeded.h"

static long data[4];
long total;

void run(void)
{
    long some[4] = {1, 2, 3, 4};
    if (me == 0) {
        shmem_long_put(data, some, 4, 1); /* @put */
        if (!fault) shmem_quiet();
        total += shmem_long_g(&data[3], 1); /* @get */
    }
    shmem_barrier_all();
}
