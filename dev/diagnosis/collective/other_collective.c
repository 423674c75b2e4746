/* PEs call different collectives.
 * check: collective
 * expect: shmem_sync_all
 * expect: shmem_barrier_all */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    if (fault && me == 1) shmem_sync_all();
    else shmem_barrier_all();
    shmem_finalize();
    return 0;
}
