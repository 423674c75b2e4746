/* A counter is reset by a store while others add to it.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: shmem_long_atomic_inc at @inc (run)
 * expect: 's store at @store (run)
 * expect: race: both write the variable "counter" on PE 0 */
#include "../seeded.h"

static long counter;

void run(void)
{
    if (me == 1) shmem_long_atomic_inc(&counter, 0); /* @inc */
    if (!fault) shmem_barrier_all();
    if (me == 0) counter = 0; /* @store */
    shmem_barrier_all();
}
