/* One PE calls another collective than the others.
 * run: -n 3 -x SHMEM_CHECK=1
 * status: 1
 * expect: at this point: all PEs must make the same collective calls in the same order
 * expect: shmem_alltoallmem
 * expect: shmem_sync_all
 */
#include <shmem.h>
static char from[3 * 4096], to[3 * 4096];
int main(void) {
    shmem_init();
#ifdef FAULT
    int exchanges = shmem_my_pe() == 1;
#else
    int exchanges = 1;
#endif
    if (exchanges)
        shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, 4096);
    else
        shmem_sync_all();
    shmem_finalize();
    return 0;
}
