/* One PE is stopped before it comes to a barrier.
 * run: -n 3
 * expect: PEs 0-1 wait in shmem_barrier_all on the world team since
 * expect: PE 2 has not come
 * expect: PE 2 is stopped, by a signal or a debugger, at @stop (run)
 */
#include "../seeded.h"
#include <signal.h>
void run(void) {
    if (fault && me == 2)
        raise(SIGSTOP); /* @stop */
    shmem_barrier_all();
}
