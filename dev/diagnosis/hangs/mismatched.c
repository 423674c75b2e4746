/* One PE calls another collective than the others.
 * run: -n 3 -x SHMEM_CHECK=1
 * status: 1
 * expect: at this point: all PEs must make the same collective calls in the same order
 * expect: shmem_alltoallmem
 * expect: shmem_sync_all
 */
#include "../seeded.h"
static char from[3 * 4096], to[3 * 4096];
void run(void) {
    if (fault && me != 1)
        shmem_sync_all();
    else
        shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, 4096);
}
