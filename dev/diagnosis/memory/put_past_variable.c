/* A put is longer than the variable that it goes to.
 * check: memory
 * expect: shmem_int_put at @put (run) writes 12 bytes past the end of the variable "table" */
#include "../seeded.h"

static int table[8];

void run(void)
{
    int source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    shmem_int_put(table + 3, source, fault ? 8 : 5, next); /* @put */
    shmem_barrier_all();
}
