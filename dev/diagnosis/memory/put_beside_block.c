/* Numbers are put from the end of a block on.
 * check: memory
 * expect: shmem_long_p at @put (main) writes 8 bytes past the end of the block of 80 bytes of shmem_calloc at @block (main) */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    long *block = shmem_calloc(10, sizeof(long)); /* @block */
    shmem_barrier_all();
    shmem_long_p(&block[fault ? 10 : 9], 7, next); /* @put */
    shmem_barrier_all();
    shmem_free(block);
    shmem_finalize();
    return 0;
}
