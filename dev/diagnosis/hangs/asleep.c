/* One PE sleeps in a system call.
 * run: -n 2
 * expect: PE 1 sleeps in the program, in nanosleep, at @sleep (main)
 * expect: PE 0 waits in shmem_barrier_all on the world team since
 * expect: PE 1 has not come
 */
#include <shmem.h>
#include <unistd.h>
int main(void) {
    shmem_init();
#ifdef FAULT
    if (shmem_my_pe() == 1)
        sleep(1000); /* @sleep */
#endif
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
