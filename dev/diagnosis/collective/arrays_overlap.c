/* The target of a collect overlaps its source.
 * check: collective
 * expect: shmem_int_fcollect
 * expect: overlap */
#include "../seeded.h"

void run(void)
{
    static int both[16];
    shmem_int_fcollect(SHMEM_TEAM_WORLD, both, fault ? both + 2 : both + 12, 4);
}
