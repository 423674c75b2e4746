/* A get writes where another PE puts.
 * check: race
 * expect: shmem_long_get at @get (run)
 * expect: shmem_long_put at @put (run)
 * expect: race: both write the variable "buffer" on PE 1 */
#include "../seeded.h"

static long buffer[4], source[4];

void run(void)
{
    long some[4] = {0};
    if (me == 0) shmem_long_put(buffer, some, 4, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) shmem_long_get(buffer, source, 4, 0); /* @get */
    shmem_barrier_all();
}
