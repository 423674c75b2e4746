/* One PE waits for a mutex of its own process that it holds already.
 * run: -n 2 --
 * flags: -pthread
 * expect: PE 1 sleeps in the program, in futex, at @mutex (run)
 * expect: PE 0 waits in shmem_barrier_all
 */
#include "../seeded.h"
#include <pthread.h>
void run(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (fault && me == 1)
        pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex); /* @mutex */
    pthread_mutex_unlock(&mutex);
    shmem_barrier_all();
}
