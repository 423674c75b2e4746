/* The receiver does not wait for the signal.
 * check: race
 * expect: PE 0's shmem_int_put_signal at @put (run) and PE 1's shmem_int_get at @get (run) race
 * expect: the variable "data" on PE 1 */
#include "../seeded.h"

static int data[4];
static uint64_t signal;

void run(void)
{
    int some[4] = {1, 2, 3, 4}, copy[4];
    if (me == 0) {
        shmem_int_put_signal(data, some, 4, &signal, 1, SHMEM_SIGNAL_SET, 1); /* @put */
    } else {
        if (!fault) shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1);
        shmem_int_get(copy, data, 4, 1); /* @get */
    }
    shmem_barrier_all();
}
