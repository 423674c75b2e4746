/* A counter is reset by a put while others add to it.
 * check: race
 * expect: shmem_long_atomic_add at @add (main)
 * expect: shmem_long_p at @put (main)
 * expect: race: both write the variable "counter" on PE 0 */
#include "../seeded.h"

static long counter;

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    if (me == 1) {
        if (fault) shmem_long_p(&counter, 0, 0); /* @put */
        else shmem_long_atomic_set(&counter, 0, 0);
    } else {
        shmem_long_atomic_add(&counter, 1, 0); /* @add */
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
