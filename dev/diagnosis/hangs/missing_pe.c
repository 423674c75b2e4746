/* One PE computes for ever, the others wait for it in a barrier.
 * run: -n 4
 * expect: PEs 0, 2-3 wait in shmem_barrier_all on the world team since
 * expect: called at @barrier (main); PE 1 has not come
 * expect: PE 1 computes, or polls memory in the program, at @loop (relax)
 */
#include <shmem.h>
static volatile double x = 1;
static void __attribute__((noinline)) relax(int steps) {
    /* One line, as any of its code may be found to run. */
    for (int i = 0; i != steps; i++) x = x * 0.5 + 1; /* @loop */
}
int main(void) {
    shmem_init();
#ifdef FAULT
    relax(shmem_my_pe() == 1 ? -1 : 10);
#else
    relax(10);
#endif
    shmem_barrier_all(); /* @barrier */
    shmem_finalize();
    return 0;
}
