/* One PE is stopped before it comes to a barrier.
 * run: -n 3
 * expect: PEs 0-1 wait in shmem_barrier_all on the world team since
 * expect: PE 2 has not come
 * expect: PE 2 is stopped, by a signal or a debugger, at @stop (main)
 */
#include <shmem.h>
#include <signal.h>
int main(void) {
    shmem_init();
#ifdef FAULT
    if (shmem_my_pe() == 2)
        raise(SIGSTOP); /* @stop */
#endif
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
