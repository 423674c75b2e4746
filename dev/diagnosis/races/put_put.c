/* Two PEs put to the same element.
 * check: race
 * pes: 3
 * expect: shmem_long_p at @put (main) and PE 
 * expect: 's shmem_long_p at @put (main) race: both write the variable "table"+0x8 on PE 0 */
#include "../seeded.h"

static long table[4];

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    shmem_long_p(&table[fault ? 1 : me], me, 0); /* @put */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
