/* Two PEs take two locks in opposite order.
 * run: -n 2 -x SHMEM_CHECK=1
 * expect: PEs wait for each other: PE 0 in shmem_set_lock for the lock "b", which PE 1 holds; PE 1 in shmem_set_lock for the lock "a", which PE 0 holds
 * expect: called at @second (both)
 */
#include <shmem.h>
static long a, b;
static void both(long *first, long *second, int *met) {
    shmem_set_lock(first);
#ifdef FAULT
    /* So that both hold one. */
    shmem_int_atomic_inc(met, 0);
    while (shmem_int_atomic_fetch(met, 0) < 2) {
    }
#else
    (void)met;
#endif
    shmem_set_lock(second); /* @second */
    shmem_clear_lock(second);
    shmem_clear_lock(first);
}
int main(void) {
    static int met;
    shmem_init();
#ifdef FAULT
    int swap = shmem_my_pe() == 1;
#else
    int swap = 0;
#endif
    both(swap ? &b : &a, swap ? &a : &b, &met);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
