/* One PE computes for ever before it starts a persistent collective, for whose request the others wait.
 * run: -n 2
 * expect: PE 0 waits in shmemx_reduce_init on the world team since
 * expect: called at @wait (run); PE 1 has not come
 * expect: PE 1 computes, or polls memory in the program, at @loop (relax)
 */
#include "../seeded.h"
static volatile double x = 1;
static void __attribute__((noinline)) relax(int steps) {
    /* One line, as any of its code may be found to run. */
    for (int i = 0; i != steps; i++) x = x * 0.5 + 1; /* @loop */
}
void run(void) {
    static long norm, part = 1;
    shmemx_req_h request;
    shmemx_sum_reduce_init(SHMEM_TEAM_WORLD, &norm, &part, 1, &request);
    relax(fault && me == 1 ? -1 : 10);
    shmemx_req_start(&request);
    shmemx_req_wait(&request); /* @wait */
    if (norm == 0)
        shmem_global_exit(1);
}
