/* A work array that does not have SHMEM_SYNC_VALUE at first, on one PE.
 * run: -n 3
 * status: 1
 * expect: PE 0: shmem_barrier: pSync at 0x
 * expect: is not initialised: its element 0 is
 */
#include "../seeded.h"
static long work[SHMEM_BARRIER_SYNC_SIZE];
void run(void) {
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        work[i] = fault && me == 0 ? 77 : SHMEM_SYNC_VALUE;
    shmem_sync_all();
    shmem_barrier(0, 0, 3, work);
}
