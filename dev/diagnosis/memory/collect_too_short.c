/* The target of a collect has room for one PE alone.
 * check: memory
 * expect: shmem_int_fcollect at @collect (run) writes 16 bytes past the end of the block of 16 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    int *source = shmem_calloc(4, sizeof(int));
    int *all = shmem_malloc((fault ? 1 : n) * 4 * sizeof(int)); /* @block */
    shmem_int_fcollect(SHMEM_TEAM_WORLD, all, source, 4); /* @collect */
    shmem_free(all);
    shmem_free(source);
}
