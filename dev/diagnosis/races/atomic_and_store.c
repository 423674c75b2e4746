/* A counter is reset by a store while others add to it.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: shmem_long_atomic_inc at @inc (main)
 * expect: 's store at @store (main)
 * expect: race: both write the variable "counter" on PE 0 */
#include "../seeded.h"

static long counter;

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    if (me == 1) shmem_long_atomic_inc(&counter, 0); /* @inc */
    if (!fault) shmem_barrier_all();
    if (me == 0) counter = 0; /* @store */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
