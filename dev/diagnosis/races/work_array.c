/* A PE sets its work array while another may have begun the collective that uses it.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: shmem_long_sum_to_all at @sum (run)
 * expect: store at @set (run)
 * expect: race: both write the variable "pSync"+ */
#include "../seeded.h"

static long pSync[SHMEM_REDUCE_SYNC_SIZE], pWrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE], value, sum;

void run(void)
{
    /* The last word: the library may use the first one already, and would wait for ever for what it has lost. */
    pSync[SHMEM_REDUCE_SYNC_SIZE - 1] = SHMEM_SYNC_VALUE; /* @set */
    if (!fault) shmem_barrier_all();
    for (int i = 0; i < 3; i++) {
        shmem_long_sum_to_all(&sum, &value, 1, 0, 0, n, pWrk, pSync); /* @sum */
        /* No PE uses it after a collective of all. */
        pSync[1] = SHMEM_SYNC_VALUE;
        shmem_barrier_all();
    }
}
