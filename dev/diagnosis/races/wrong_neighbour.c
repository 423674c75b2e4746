/* A PE puts to the slot of another.
 * check: race
 * pes: 3
 * expect: shmem_int_p at @put (run) race: both write the variable "slots"+0x4 on PE 0 */
#include "../seeded.h"

static int slots[4];

void run(void)
{
    int slot = fault && me == 2 ? 1 : me;
    shmem_int_p(&slots[slot], me, 0); /* @put */
    shmem_barrier_all();
}
