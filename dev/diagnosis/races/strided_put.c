/* Columns that two PEs put have one in common.
 * check: race
 * expect: shmem_int_iput at @put (run) race: both write the variable "matrix"+0x4 on PE 0 */
#include "../seeded.h"

static int matrix[4][4];

void run(void)
{
    int column[4] = {0};
    shmem_int_iput(&matrix[0][fault ? 1 : me], column, 4, 1, 4, 0); /* @put */
    shmem_barrier_all();
}
