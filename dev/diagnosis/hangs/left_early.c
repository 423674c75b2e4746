/* One PE returns from main without shmem_finalize.
 * run: -n 3
 * status: 1
 * expect: PE 1 exited with status 0 without shmem_finalize while PE
 * expect: waits in shmem_barrier_all, called at @barrier (main); ended the job
 */
#include <shmem.h>
#include <stdlib.h>
int main(void) {
    shmem_init();
#ifdef FAULT
    if (shmem_my_pe() == 1)
        _Exit(0);
#endif
    shmem_barrier_all(); /* @barrier */
    shmem_finalize();
    return 0;
}
