/* PEs call different collectives.
 * check: collective
 * expect: shmem_sync_all
 * expect: shmem_barrier_all */
#include "../seeded.h"

void run(void)
{
    if (fault && me == 1) shmem_sync_all();
    else shmem_barrier_all();
}
