/* PEs sum arrays of different lengths.
 * check: collective
 * expect: shmem_int_sum_reduce
 * expect: nreduce */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    static int to[8], from[8];
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, to, from, fault ? 4 + me : 4);
    shmem_finalize();
    return 0;
}
