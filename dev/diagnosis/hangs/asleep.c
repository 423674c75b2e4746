/* One PE sleeps in a system call.
 * run: -n 2
 * expect: PE 1 sleeps in the program, in nanosleep, at @sleep (run)
 * expect: PE 0 waits in shmem_barrier_all on the world team since
 * expect: PE 1 has not come
 */
#include "../seeded.h"
#include <unistd.h>
void run(void) {
    if (fault && me == 1)
        sleep(1000); /* @sleep */
    shmem_barrier_all();
}
