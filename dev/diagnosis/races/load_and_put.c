/* A PE loads what another puts in the same step.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's shmem_long_p at @put (main) and PE 1's load at @load (main) race: the first writes, and the second reads the variable "data" on PE 1 */
#include "../seeded.h"

static long data;
long total;

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    if (me == 0) shmem_long_p(&data, 7, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) total += data; /* @load */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
