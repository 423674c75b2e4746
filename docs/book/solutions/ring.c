/* Passes each PE's array around the ring of all PEs, until it is back. */
#include <shmem.h>
#include <string.h>

#define N 100

long now[N], next[N];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n;
    for (long i = 0; i < N; i++)
        now[i] = 1000 * me + i;
    for (int step = 0; step < n; step++) {
        shmem_long_put(next, now, N, right);
        shmem_barrier_all(); /* next is complete */
        memcpy(now, next, sizeof now);
        shmem_barrier_all(); /* and read, before it is written again */
    }
    for (long i = 0; i < N; i++)
        if (now[i] != 1000 * me + i)
            shmem_global_exit(1);
    shmem_finalize();
}
