/* A PE reads a value before another has put it, and fails by it.
 * check: race
 * status: 3
 * expect: PE 0's shmem_long_p at @put (run) and PE 1's shmem_long_g at @get (run) race: the first writes, and the
 * expect: exited with status 3 */
#include "../seeded.h"

#include <unistd.h>

static long data;

void run(void)
{
    if (me == 0) {
        usleep(50000);
        shmem_long_p(&data, 5, 1); /* @put */
    }
    if (!fault) shmem_barrier_all();
    if (me == 1 && shmem_long_g(&data, 1) != 5) _exit(3); /* @get */
    shmem_barrier_all();
}
