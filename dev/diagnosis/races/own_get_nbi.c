/* A PE uses what a non-blocking get has not brought yet.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's shmem_long_get_nbi at @get (run) and its load at @load (run) race: the first writes, and the second
 * expect: the variable "copy" on PE 0 */
#include "../seeded.h"

static long data[4], copy[4];
long total;

void run(void)
{
    if (me == 0) {
        shmem_long_get_nbi(copy, data, 4, 1); /* @get */
        if (!fault) shmem_quiet();
        total += copy[0]; /* @load */
    }
    shmem_barrier_all();
}
