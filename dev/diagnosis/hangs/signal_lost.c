/* A signal is set where it was to be added to.
 * run: -n 3
 * expect: PE 0 waits in shmem_signal_wait_until for the signal "done" to be 2 (it is 1) since
 * expect: called at @wait (main)
 * expect: no PE will write what PE 0 waits for
 */
#include <shmem.h>
static uint64_t done;
static long data[3];
int main(void) {
    shmem_init();
    long me = shmem_my_pe();
#ifdef FAULT
    const int operation = SHMEM_SIGNAL_SET;
#else
    const int operation = SHMEM_SIGNAL_ADD;
#endif
    if (me > 0)
        shmem_long_put_signal(&data[me], &me, 1, &done, 1, operation, 0);
    else
        shmem_signal_wait_until(&done, SHMEM_CMP_EQ, 2); /* @wait */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
