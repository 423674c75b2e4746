/* A PE uses what a non-blocking atomic has not brought yet: memory that is not symmetric.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 1's shmem_long_atomic_fetch_add_nbi at @add (run) and its load at @load (run) race: the first writes, and
 * expect: the second reads memory on PE 1 */
#include "../seeded.h"

static long counter;
long total;

void run(void)
{
    long *old = malloc(4 * sizeof *old);
    if (me == 1) {
        for (int i = 0; i < 4; i++)
            shmem_long_atomic_fetch_add_nbi(&old[i], &counter, 1, 0); /* @add */
        if (!fault) shmem_quiet();
        for (int i = 0; i < 4; i++)
            total += old[i]; /* @load */
    }
    shmem_barrier_all();
    free(old);
}
