/* A PE loads what another puts in the same step.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's shmem_long_p at @put (run) and PE 1's load at @load (run) race: the first writes, and the second reads the variable "data" on PE 1 */
#include "../seeded.h"

static long data;
long total;

void run(void)
{
    if (me == 0) shmem_long_p(&data, 7, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) total += data; /* @load */
    shmem_barrier_all();
}
