/* Puts of many pages overlap in a few bytes.
 * check: race
 * expect: shmem_putmem at @put (run) race: both write byte 1048576 of the block of 2097152 bytes of shmem_calloc at @block (run) on PE 0 */
#include "../seeded.h"

void run(void)
{
    const size_t half = 1 << 20;
    char *all = shmem_calloc(2, half); /* @block */
    char *part = calloc(1, half + 4);
    shmem_putmem(all + me * half, part, half + (fault && me == 0 ? 4 : 0), 0); /* @put */
    shmem_barrier_all();
    free(part);
    shmem_free(all);
}
