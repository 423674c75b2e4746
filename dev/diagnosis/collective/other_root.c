/* PEs give different roots.
 * check: collective
 * expect: shmem_broadcastmem
 * expect: PE_root */
#include "../seeded.h"

void run(void)
{
    static char to[8], from[8];
    shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, 8, fault ? me : 0);
}
