/* Columns that two PEs put have one in common.
 * check: race
 * expect: shmem_int_iput at @put (main) race: both write the variable "matrix"+0x4 on PE 0 */
#include "../seeded.h"

static int matrix[4][4];

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    int column[4] = {0};
    shmem_int_iput(&matrix[0][fault ? 1 : me], column, 4, 1, 4, 0); /* @put */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
