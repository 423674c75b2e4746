/* The target of a collect has room for one PE alone.
 * check: memory
 * expect: shmem_int_fcollect at @collect (main) writes 16 bytes past the end of the block of 16 bytes of shmem_malloc at @block (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    int *source = shmem_calloc(4, sizeof(int));
    int *all = shmem_malloc((fault ? 1 : n) * 4 * sizeof(int)); /* @block */
    shmem_int_fcollect(SHMEM_TEAM_WORLD, all, source, 4); /* @collect */
    shmem_free(all);
    shmem_free(source);
    shmem_finalize();
    return 0;
}
