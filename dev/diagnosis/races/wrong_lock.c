/* PEs take different locks for the same data.
 * check: race
 * expect: shmem_long_p at @put (main) race: both write the variable "total" on PE 0 */
#include "../seeded.h"

static long locks[4], total;

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    long *lock = &locks[fault ? me : 0];
    shmem_set_lock(lock);
    shmem_long_p(&total, me, 0); /* @put */
    shmem_clear_lock(lock);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
