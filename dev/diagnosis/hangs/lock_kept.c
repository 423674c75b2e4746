/* A PE goes to a barrier with the lock that another one waits for.
 * run: -n 2 -x SHMEM_CHECK=1
 * expect: PE 1 waits in shmem_set_lock for the lock "tasks" since
 * expect: called at @lock (run)
 * expect: PEs wait for each other: PE 0 in shmem_barrier_all on the world team, to which PE 1 has not come; PE 1 in shmem_set_lock for the lock "tasks", which PE 0 holds
 */
#include "../seeded.h"
static long tasks;
void run(void) {
    if (me == 0)
        shmem_set_lock(&tasks);
    shmem_sync_all();
    if (me == 0 && fault)
        shmem_barrier_all();
    else if (me == 0)
        shmem_clear_lock(&tasks);
    if (me == 1) {
        shmem_set_lock(&tasks); /* @lock */
        shmem_clear_lock(&tasks);
    }
    shmem_barrier_all();
}
