/* PE 1 waits for a flag that PE 0 sets on the wrong PE.
 * run: -n 3
 * expect: PE 1 waits in shmem_int_wait_until for the variable "flags"+0x8 to be 7 (it is 0) since
 * expect: called at @wait (run)
 * expect: PEs 0, 2 wait in shmem_barrier_all on the world team since
 * expect: PE 1 has not come
 * expect: no PE will write what PE 1 waits for: all PEs wait
 */
#include "../seeded.h"
static int flags[4];
void run(void) {
    if (me == 0)
        shmem_int_p(&flags[2], 7, fault ? 2 : 1);
    if (me == 1)
        shmem_int_wait_until(&flags[2], SHMEM_CMP_EQ, 7); /* @wait */
    shmem_barrier_all();
}
