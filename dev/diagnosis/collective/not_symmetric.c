/* The target of a sum is on the stack.
 * check: collective
 * expect: shmem_long_sum_reduce
 * expect: dest */
#include "../seeded.h"

void run(void)
{
    static long from, to;
    long other = 0;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, fault ? &other : &to, &from, 1);
}
