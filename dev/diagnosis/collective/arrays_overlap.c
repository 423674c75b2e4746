/* The target of a collect overlaps its source.
 * check: collective
 * expect: shmem_int_fcollect
 * expect: overlap */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    static int both[16];
    shmem_int_fcollect(SHMEM_TEAM_WORLD, both, fault ? both + 2 : both + 12, 4);
    shmem_finalize();
    return 0;
}
