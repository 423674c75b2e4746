/* One PE returns from main without shmem_finalize.
 * run: -n 3
 * status: 1
 * expect: PE 1 exited with status 0 without shmem_finalize while PE
 * expect: waits in shmem_barrier_all, called at @barrier (run); ended the job
 */
#include "../seeded.h"
void run(void) {
    if (fault && me == 1)
        _Exit(0);
    shmem_barrier_all(); /* @barrier */
}
