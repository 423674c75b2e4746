/* The call is in a function that is inlined into another.
 * run: -n 2
 * flags: -O2
 * expect: PE 0 waits in shmem_int_wait_until for the variable "turn" to be other than 0 (it is 0) since
 * expect: called at @wait (my_turn)
 */
#include <shmem.h>
static int turn;
static inline __attribute__((always_inline)) void my_turn(void) {
    shmem_int_wait_until(&turn, SHMEM_CMP_NE, 0); /* @wait */
}
int main(void) {
    shmem_init();
#ifdef FAULT
    int gives = 0;
#else
    int gives = 1;
#endif
    if (shmem_my_pe() == 0)
        my_turn();
    else if (gives)
        shmem_int_p(&turn, 1, 0);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
