/* A PE stores where another puts in the same step.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: 's store at @store (run)
 * expect: shmem_int_put at @put (run)
 * expect: race: both write the variable "data"+0x4 on PE 1 */
#include "../seeded.h"

static int data[4];

void run(void)
{
    int some[4] = {1, 2, 3, 4};
    if (me == 0) shmem_int_put(data, some, 4, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) data[1] = 5; /* @store */
    shmem_barrier_all();
}
