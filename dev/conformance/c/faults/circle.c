/* PEs that wait for each other in collectives. Argument: what they do:
 *   teams      two teams of the same members, and a PE in a collective of each
 *   forgotten  the last PE does not call a collective of a team, but finalizes
 *   list       the same, of a team whose PEs are at no equal distances
 *   order      three teams of two PEs, each PE in a collective of another one */
#include "check.h"

#include <shmemx.h>
#include <time.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_team_t teams[3];
    int is_order = strcmp(way, "order") == 0, is_list = strcmp(way, "list") == 0;
    REQUIRE(n == 3);
    for (int i = 0; i < 3; i++) {
        int start = is_order && i < 2 ? i : 0, stride = is_order && i == 2 ? 2 : 1;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, is_order ? 2 : n, NULL, 0, &teams[i]) == 0 ||
              is_order);
    }
    if (is_list)
        CHECK(shmemx_team_split_list(SHMEM_TEAM_WORLD, (int[]){1, 0, 2}, 3, NULL, 0, &teams[0]) == 0);
    /* Late PEs are no reason to end a job. */
    if (me == 1)
        nanosleep(&(struct timespec){2, 0}, NULL);
    shmem_barrier_all();
    if (me == 2)
        nanosleep(&(struct timespec){1, 0}, NULL);
    if (strcmp(way, "teams") == 0)
        shmem_team_sync(teams[me == 0]);
    else if (is_order) /* 0-1, 1-2, 0-2: PE 0 waits for 1, 1 for 2, 2 for 0 */
        shmem_team_sync(teams[me]);
    else if ((is_list || strcmp(way, "forgotten") == 0) && me != 2)
        shmem_team_sync(teams[0]);
    shmem_finalize();
    return 99;
}
