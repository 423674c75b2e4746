/* A work array that does not have SHMEM_SYNC_VALUE at first, on one PE.
 * run: -n 3
 * status: 1
 * expect: PE 0: shmem_barrier: pSync at 0x
 * expect: is not initialised: its element 0 is
 */
#include <shmem.h>
static long work[SHMEM_BARRIER_SYNC_SIZE];
int main(void) {
    shmem_init();
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        work[i] = SHMEM_SYNC_VALUE;
#ifdef FAULT
    if (shmem_my_pe() == 0)
        for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
            work[i] = 77;
#endif
    shmem_sync_all();
    shmem_barrier(0, 0, 3, work);
    shmem_finalize();
    return 0;
}
