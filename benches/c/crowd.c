/* The library's barrier of more PEs than cores, compared with a pthread barrier shared by the same
 * processes. */
#include "rounds.h"
#include <pthread.h>

enum { COUNT = 10 };

static pthread_barrier_t *shared; /* PE 0's */

static void pthread_barriers(long count)
{
    for (long i = 0; i < count; i++)
        pthread_barrier_wait(shared);
}

static void shmem_barriers(long count)
{
    for (long i = 0; i < count; i++)
        shmem_barrier_all();
}

static const struct series all[] = {{"barrier_all", pthread_barriers, shmem_barriers, COUNT, 1, 0}};

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe();
    pthread_barrier_t *mine = shmem_align(128, sizeof *mine);
    shared = shmem_ptr(mine, 0);
    if (me == 0) {
        pthread_barrierattr_t attributes;
        pthread_barrierattr_init(&attributes);
        pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        if (pthread_barrier_init(mine, &attributes, (unsigned)shmem_n_pes())) {
            fprintf(stderr, "no pthread barrier of %d processes\n", shmem_n_pes());
            return 1;
        }
    }
    shmem_barrier_all();
    serve(all, sizeof all / sizeof *all);
    shmem_finalize();
    return 0;
}
