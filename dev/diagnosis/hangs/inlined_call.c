/* The call is in a function that is inlined into another.
 * run: -n 2
 * flags: -O2
 * expect: PE 0 waits in shmem_int_wait_until for the variable "turn" to be other than 0 (it is 0) since
 * expect: called at @wait (my_turn)
 */
#include "../seeded.h"
static int turn;
static inline __attribute__((always_inline)) void my_turn(void) {
    shmem_int_wait_until(&turn, SHMEM_CMP_NE, 0); /* @wait */
}
void run(void) {
    if (me == 0)
        my_turn();
    else if (!fault)
        shmem_int_p(&turn, 1, 0);
    shmem_barrier_all();
}
