/* The target of a broadcast is still being read.
 * check: race
 * pes: 3
 * expect: shmem_broadcastmem at @broadcast (run)
 * expect: shmem_getmem at @get (run)
 * expect: the variable "to" on PE 1
 * expect: shmem_getmem at @root (run)
 * expect: the variable "to" on PE 0 */
#include "../seeded.h"

static char to[16], from[16];

void run(void)
{
    char copy[16];
    if (me == 2) shmem_getmem(copy, to, 16, 1); /* @get */
    if (me == 2) shmem_getmem(copy, to, 16, 0); /* @root */
    if (!fault) shmem_barrier_all();
    shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, 16, 0); /* @broadcast */
    shmem_barrier_all();
}
