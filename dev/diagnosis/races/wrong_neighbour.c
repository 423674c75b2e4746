/* A PE puts to the slot of another.
 * check: race
 * pes: 3
 * expect: shmem_int_p at @put (main) race: both write the variable "slots"+0x4 on PE 0 */
#include "../seeded.h"

static int slots[4];

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    int slot = fault && me == 2 ? 1 : me;
    shmem_int_p(&slots[slot], me, 0); /* @put */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
