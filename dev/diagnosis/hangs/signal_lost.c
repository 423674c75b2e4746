/* A signal is set where it was to be added to.
 * run: -n 3
 * expect: PE 0 waits in shmem_signal_wait_until for the signal "done" to be 2 (it is 1) since
 * expect: called at @wait (run)
 * expect: no PE will write what PE 0 waits for
 */
#include "../seeded.h"
static uint64_t done;
static long data[3];
void run(void) {
    long mine = me;
    if (me > 0)
        shmem_long_put_signal(&data[me], &mine, 1, &done, 1, fault ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD, 0);
    else
        shmem_signal_wait_until(&done, SHMEM_CMP_EQ, 2); /* @wait */
    shmem_barrier_all();
}
