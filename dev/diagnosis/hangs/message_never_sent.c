/* A receive with a tag that no message has.
 * run: -n 2
 * expect: PE 1 waits in shmemx_msg_recv for a message from PE 0 with tag 5 since
 * expect: called at @receive (run)
 */
#include "../seeded.h"
void run(void) {
    long value = 1;
    if (me == 0)
        shmemx_msg_send(SHMEM_TEAM_WORLD, &value, sizeof value, 1, fault ? 6 : 5);
    else
        shmemx_msg_recv(SHMEM_TEAM_WORLD, &value, sizeof value, 0, 5, NULL); /* @receive */
    shmem_barrier_all();
}
