/* Two PEs put to the same element.
 * check: race
 * pes: 3
 * expect: shmem_long_p at @put (run) and PE 
 * expect: 's shmem_long_p at @put (run) race: both write the variable "table"+0x8 on PE 0 */
#include "../seeded.h"

static long table[4];

void run(void)
{
    shmem_long_p(&table[fault ? 1 : me], me, 0); /* @put */
    shmem_barrier_all();
}
