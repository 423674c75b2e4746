/* A halo is put before the neighbour has used the last one.
 * check: race
 * pes: 3
 * expect: shmem_double_put at @put (run)
 * expect: shmem_double_get at @use (run)
 * expect: the variable "halo" on PE */
#include "../seeded.h"

static double halo[8];

void run(void)
{
    double edge[8] = {0}, used[8];
    for (int step = 0; step < 3; step++) {
        shmem_double_put(halo, edge, 8, next); /* @put */
        shmem_barrier_all();
        shmem_double_get(used, halo, 8, me); /* @use */
        if (!fault) shmem_barrier_all();
    }
    shmem_barrier_all();
}
