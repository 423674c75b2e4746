/* A PE gets what another puts in the same step.
 * check: race
 * expect: PE 0's shmem_putmem at @put (run) and PE 1's shmem_getmem at @get (run) race
 * expect: the variable "text"+0x10 on PE 1 */
#include "../seeded.h"

static char text[32];

void run(void)
{
    char copy[32] = "";
    if (me == 0) shmem_putmem(text, copy, 32, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) shmem_getmem(copy, text + 16, 16, 1); /* @get */
    shmem_barrier_all();
}
