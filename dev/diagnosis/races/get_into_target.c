/* A get writes where another PE puts.
 * check: race
 * expect: shmem_long_get at @get (main)
 * expect: shmem_long_put at @put (main)
 * expect: race: both write the variable "buffer" on PE 1 */
#include "../seeded.h"

static long buffer[4], source[4];

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    long some[4] = {0};
    if (me == 0) shmem_long_put(buffer, some, 4, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) shmem_long_get(buffer, source, 4, 0); /* @get */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
