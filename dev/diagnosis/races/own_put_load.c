/* A PE puts to itself, and loads that before it is complete.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 1's shmem_long_p at @put (run) and its load at @load (run) race: the first writes, and the second reads
 * expect: the variable "data" on PE 1 */
#include "../seeded.h"

static long data, seen;
long total;

void run(void)
{
    if (me == 1) {
        shmem_long_p(&data, 5, 1); /* @put */
        if (!fault) shmem_quiet();
        total += data; /* @load */
        /* What a PE has waited for is complete, its own puts, too. */
        shmem_long_p(&seen, 1, 1);
        shmem_long_wait_until(&seen, SHMEM_CMP_EQ, 1);
        total += seen;
    }
    shmem_barrier_all();
}
