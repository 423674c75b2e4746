/* Not the first thread waits.
 * run: -n 2
 * flags: -pthread
 * expect: PE 0 waits in shmem_int_wait_until for the variable "flag" to be 1 (it is 0) since
 * expect: called at @wait (work)
 */
#include <pthread.h>
#include <shmem.h>
static int flag;
static void *work(void *unused) {
    shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1); /* @wait */
    return unused;
}
int main(void) {
    int provided;
    pthread_t thread;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    if (shmem_my_pe() == 0) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
#ifndef FAULT
    else
        shmem_int_p(&flag, 1, 0);
#endif
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
