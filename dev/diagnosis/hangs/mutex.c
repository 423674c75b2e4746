/* One PE waits for a mutex of its own process that it holds already.
 * run: -n 2 --
 * flags: -pthread
 * expect: PE 1 sleeps in the program, in futex, at @mutex (main)
 * expect: PE 0 waits in shmem_barrier_all
 */
#include <pthread.h>
#include <shmem.h>
int main(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    shmem_init();
#ifdef FAULT
    if (shmem_my_pe() == 1)
        pthread_mutex_lock(&mutex);
#endif
    pthread_mutex_lock(&mutex); /* @mutex */
    pthread_mutex_unlock(&mutex);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
