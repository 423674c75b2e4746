/* The source of a put is changed before quiet.
 * check: memory
 * expect: the source of shmem_long_put_nbi at @put (run) to PE
 * expect: was changed before shmem_quiet at @quiet (run) completed it */
#include "../seeded.h"

void run(void)
{
    static long target[4];
    static long source[4];
    shmem_long_put_nbi(target, source, 4, next); /* @put */
    if (!fault) shmem_quiet();
    source[3] = 1;
    shmem_quiet(); /* @quiet */
    shmem_barrier_all();
}
