/* An atomic goes where no block is.
 * check: memory
 * expect: shmem_long_atomic_inc at @inc (main) writes 8 bytes on PE
 * expect: of the symmetric heap, where no block is */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    long *counter = shmem_calloc(1, sizeof(long));
    shmem_long_atomic_inc(fault ? counter + 5000 : counter, next); /* @inc */
    shmem_barrier_all();
    shmem_free(counter);
    shmem_finalize();
    return 0;
}
