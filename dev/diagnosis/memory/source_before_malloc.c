/* The source of a put is changed before an allocation, which completes it. Without bytes, nothing is allocated or completed.
 * check: memory
 * expect: the source of shmem_long_put_nbi at @put (main) to PE
 * expect: was changed before shmem_quiet at @quiet (main) completed it */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    static long target[4];
    static long source[4];
    shmem_long_put_nbi(target, source, 4, next); /* @put */
    long *block = shmem_malloc(fault ? 0 : 64);
    source[3] = 1;
    shmem_quiet(); /* @quiet */
    shmem_free(block);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
