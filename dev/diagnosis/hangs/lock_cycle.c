/* Two PEs take two locks in opposite order.
 * run: -n 2 -x SHMEM_CHECK=1
 * expect: PEs wait for each other: PE 0 in shmem_set_lock for the lock "b", which PE 1 holds; PE 1 in shmem_set_lock for the lock "a", which PE 0 holds
 * expect: called at @second (both)
 */
#include "../seeded.h"
static long a, b;
static int met;
static void both(long *first, long *second) {
    shmem_set_lock(first);
    if (fault) {
        /* So that both hold one. */
        shmem_int_atomic_inc(&met, 0);
        while (shmem_int_atomic_fetch(&met, 0) < 2) {
        }
    }
    shmem_set_lock(second); /* @second */
    shmem_clear_lock(second);
    shmem_clear_lock(first);
}
void run(void) {
    int swap = fault && me == 1;
    both(swap ? &b : &a, swap ? &a : &b);
    shmem_barrier_all();
}
