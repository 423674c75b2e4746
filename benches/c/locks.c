/* A critical section: taking and giving back a lock are to be a compare-exchange each, without a call. */
#include <shmem.h>

void guarded(long *lock, long *value)
{
    shmem_set_lock(lock);
    ++*value;
    shmem_clear_lock(lock);
}
