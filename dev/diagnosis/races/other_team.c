/* A team synchronises that the writer is not in.
 * check: race
 * pes: 3
 * expect: PE 0's shmem_long_g at @get (run) and PE 2's shmem_long_p at @put (run) race
 * expect: the variable "data" on PE 0 */
#include "../seeded.h"

static long data;

void run(void)
{
    shmem_team_t pair;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
    if (me == 2) shmem_long_p(&data, 1, 0); /* @put */
    if (!fault) shmem_barrier_all();
    if (me < 2) shmem_team_sync(pair);
    if (me == 0) (void)shmem_long_g(&data, 0); /* @get */
    shmem_barrier_all();
}
