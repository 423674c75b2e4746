/* A counter in the heap that never gets as high as one PE expects.
 * run: -n 2
 * expect: PE 0 waits in shmem_long_wait_until for the variable at 0x
 * expect: (byte 16 of an allocation of 64 bytes) to be >= 2 (it is 1) since
 * expect: called at @wait (main)
 * expect: no PE will write what PE 0 waits for
 */
#include <shmem.h>
int main(void) {
    shmem_init();
    long *counts = shmem_calloc(8, sizeof *counts);
#ifdef FAULT
    const long needed = 2;
#else
    const long needed = 1;
#endif
    if (shmem_my_pe() == 1)
        shmem_long_atomic_inc(&counts[2], 0);
    else
        shmem_long_wait_until(&counts[2], SHMEM_CMP_GE, needed); /* @wait */
    shmem_barrier_all();
    shmem_free(counts);
    shmem_finalize();
    return 0;
}
