/* A PE loads and frees a block into which another still puts: nothing is forgotten before the barrier of shmem_free.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's shmem_long_p at @put (run) and PE 1's load at @load (run) race
 * expect: reads byte 0 of the block of 8 bytes of shmem_malloc */
#include "../seeded.h"
#include <unistd.h>

long total;

void run(void)
{
    long *data = shmem_malloc(sizeof *data);
    if (me == 0) {
        usleep(200000);
        shmem_long_p(data, 7, 1); /* @put */
    }
    if (!fault) shmem_barrier_all();
    if (me == 1) total += *data; /* @load */
    shmem_free(data);
}
