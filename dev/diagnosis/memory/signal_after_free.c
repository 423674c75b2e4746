/* A signal is in memory that was freed.
 * check: memory
 * expect: shmem_long_put_signal at @put (run) writes 8 bytes on PE
 * expect: of the block of 8 bytes of shmem_calloc at @block (run), after shmem_free at @free (run) */
#include "../seeded.h"

void run(void)
{
    static long target, source;
    uint64_t *signal = shmem_calloc(1, sizeof *signal); /* @block */
    if (!fault) shmem_long_put_signal(&target, &source, 1, signal, 1, SHMEM_SIGNAL_SET, next);
    shmem_free(signal); /* @free */
    if (fault) shmem_long_put_signal(&target, &source, 1, signal, 1, SHMEM_SIGNAL_SET, next); /* @put */
    shmem_barrier_all();
}
