/* One PE synchronises the world where the others do their team, of which it is one.
 * run: -n 4
 * expect: wait for each other: PE
 * expect: in shmem_team_sync on team
 * expect: in shmem_sync_all on the world team
 * expect: called at @all (run)
 * expect: called at @team (run)
 */
#include "../seeded.h"
void run(void) {
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 3, NULL, 0, &team);
    if (fault && me == 2)
        shmem_sync_all(); /* @all */
    if (team != SHMEM_TEAM_INVALID)
        shmem_team_sync(team); /* @team */
    shmem_sync_all();
}
