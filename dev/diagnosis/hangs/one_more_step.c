/* One PE goes once more through a loop with a reduction than the others, which are in shmem_finalize.
 * run: -n 3
 * expect: PE 2 waits in shmem_finalize on the world team since
 * expect: called at @finalize (main); PEs 0-1 have not come
 * or: has finished shmem_finalize while PE 2 waits in shmem_finalize
 */
#include <shmem.h>
int main(void) {
    static double mine[300], sum[300];
    shmem_init();
#ifdef FAULT
    int steps = shmem_my_pe() == 2 ? 4 : 3;
#else
    int steps = 3;
#endif
    for (int i = 0; i < steps; i++)
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, mine, 300); /* @reduce */
    shmem_finalize(); /* @finalize */
    return 0;
}
