/* Parts that PEs put overlap by one element.
 * check: race
 * expect: shmem_int_put at @put (run) race: both write byte 32 of the block of 256 bytes of shmem_calloc at @block (run) on PE 0 */
#include "../seeded.h"

void run(void)
{
    int *all = shmem_calloc(64, sizeof(int)); /* @block */
    int part[9] = {0};
    shmem_int_put(all + 8 * me, part, fault ? 9 : 8, 0); /* @put */
    shmem_barrier_all();
    shmem_free(all);
}
