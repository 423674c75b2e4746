/* A halo is put while the neighbour still loads the last one.
 * check: race
 * pes: 3
 * instrumented: -fsanitize=thread
 * expect: 's load at @load (relax)
 * expect: shmem_double_put at @put (run)
 * expect: the variable "halo" on PE */
#include "../seeded.h"

static double halo[8];
double sum;

static __attribute__((noinline)) void relax(void)
{
    for (int i = 0; i < 8; i++) sum += halo[i]; /* @load */
}

void run(void)
{
    double edge[8] = {0};
    for (int step = 0; step < 3; step++) {
        shmem_double_put(halo, edge, 8, next); /* @put */
        shmem_barrier_all();
        relax();
        if (!fault) shmem_barrier_all();
    }
    shmem_barrier_all();
}
