/* One PE computes for ever, the others wait for it in a barrier.
 * run: -n 4
 * expect: PEs 0, 2-3 wait in shmem_barrier_all on the world team since
 * expect: called at @barrier (run); PE 1 has not come
 * expect: PE 1 computes, or polls memory in the program, at @loop (relax)
 */
#include "../seeded.h"
static volatile double x = 1;
static void __attribute__((noinline)) relax(int steps) {
    /* One line, as any of its code may be found to run. */
    for (int i = 0; i != steps; i++) x = x * 0.5 + 1; /* @loop */
}
void run(void) {
    relax(fault && me == 1 ? -1 : 10);
    shmem_barrier_all(); /* @barrier */
}
