/* Two PEs use two teams in opposite order.
 * run: -n 2
 * expect: PEs wait for each other: PE 0 in shmem_team_sync on team
 * expect: PE 1 in shmem_team_sync on team
 * expect: called at @first (run)
 */
#include "../seeded.h"
void run(void) {
    shmem_team_t a, b;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &a);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &b);
    int swap = fault && me == 1;
    shmem_team_sync(swap ? b : a); /* @first */
    shmem_team_sync(swap ? a : b);
}
