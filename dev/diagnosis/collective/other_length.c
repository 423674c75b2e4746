/* PEs sum arrays of different lengths.
 * check: collective
 * expect: shmem_int_sum_reduce
 * expect: nreduce */
#include "../seeded.h"

void run(void)
{
    static int to[8], from[8];
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, to, from, fault ? 4 + me : 4);
}
