/* A sum of arrays that nobody has written.
 * check: memory
 * expect: shmem_double_sum_reduce at @sum (run) reads 32 bytes on PE
 * expect: that nobody has written: byte 0 of the block of 32 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    double *parts = shmem_malloc(4 * sizeof(double)); /* @block */
    double *sums = shmem_malloc(4 * sizeof(double));
    for (int i = 0; i < 4 && !fault; i++) parts[i] = i;
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, parts, 4); /* @sum */
    shmem_free(sums);
    shmem_free(parts);
}
