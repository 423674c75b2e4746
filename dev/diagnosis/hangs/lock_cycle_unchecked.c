/* The same where the library does not see which PE holds a lock.
 * run: -n 2
 * expect: PE 0 waits in shmem_set_lock for the lock "b" since
 * expect: PE 1 waits in shmem_set_lock for the lock "a" since
 * expect: no PE can go on: all PEs wait; SHMEM_CHECK=1 shows which PE holds which lock
 */
#include "lock_cycle.c"
