/* A counter in the heap that never gets as high as one PE expects.
 * run: -n 2
 * expect: PE 0 waits in shmem_long_wait_until for the variable at 0x
 * expect: (byte 16 of an allocation of 64 bytes) to be >= 2 (it is 1) since
 * expect: called at @wait (run)
 * expect: no PE will write what PE 0 waits for
 */
#include "../seeded.h"
void run(void) {
    long *counts = shmem_calloc(8, sizeof *counts);
    if (me == 1)
        shmem_long_atomic_inc(&counts[2], 0);
    else
        shmem_long_wait_until(&counts[2], SHMEM_CMP_GE, fault ? 2 : 1); /* @wait */
    shmem_barrier_all();
    shmem_free(counts);
}
