/* A receive with a tag that no message has.
 * run: -n 2
 * expect: PE 1 waits in shmemx_msg_recv for a message from PE 0 with tag 5 since
 * expect: called at @receive (main)
 */
#include <shmem.h>
#include <shmemx.h>
int main(void) {
    long value = 1;
    shmem_init();
#ifdef FAULT
    const int tag = 6;
#else
    const int tag = 5;
#endif
    if (shmem_my_pe() == 0)
        shmemx_msg_send(SHMEM_TEAM_WORLD, &value, sizeof value, 1, tag);
    else
        shmemx_msg_recv(SHMEM_TEAM_WORLD, &value, sizeof value, 0, 5, NULL); /* @receive */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
