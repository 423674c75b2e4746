/* The source of a sum is put to in the same step.
 * check: race
 * expect: shmem_long_sum_reduce at @sum (run)
 * expect: shmem_long_p at @put (run)
 * expect: the variable "part"+0x8 on PE */
#include "../seeded.h"

static long part[2], sum[2];

void run(void)
{
    if (fault) shmem_long_p(&part[1], 1, next); /* @put */
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, part, 2); /* @sum */
    shmem_barrier_all();
    if (!fault) shmem_long_p(&part[1], 1, next);
    shmem_barrier_all();
}
