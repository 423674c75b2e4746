/* The target of a sum is on the stack.
 * check: collective
 * expect: shmem_long_sum_reduce
 * expect: dest */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    static long from, to;
    long other = 0;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, fault ? &other : &to, &from, 1);
    shmem_finalize();
    return 0;
}
