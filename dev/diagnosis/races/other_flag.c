/* Data of a PE whose flag is not the one that a wait for any has found.
 * check: race
 * pes: 3
 * expect: shmem_long_p at @put (run)
 * expect: PE 0's shmem_long_g at @get (run)
 * expect: the variable "data" */
#include "../seeded.h"

static long data[2];
static int flags[2];

void run(void)
{
    if (me == 0) {
        int are_read[2] = {0, 0};
        size_t found[2];
        found[0] = shmem_int_wait_until_any(flags, 2, NULL, SHMEM_CMP_EQ, 1);
        shmem_long_g(&data[fault ? 1 - found[0] : found[0]], 0); /* @get */
        are_read[found[0]] = 1;
        shmem_int_wait_until_some(flags, 2, found, are_read, SHMEM_CMP_EQ, 1);
        shmem_long_g(&data[found[0]], 0);
    } else {
        shmem_long_p(&data[me - 1], me, 0); /* @put */
        shmem_fence();
        shmem_int_p(&flags[me - 1], 1, 0);
    }
    shmem_barrier_all();
}
