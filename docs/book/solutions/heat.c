/* A heat equation in one dimension, as a port from MPI: Sendrecv has become puts with signals, and Allreduce a
 * reduction. */
#include <math.h>
#include <shmem.h>

#define N 64 /* points of each PE */

double u[2][N + 2]; /* by turns, with a halo at both ends: symmetric, so that neighbours put there */
uint64_t arrived[2];
double change, largest;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), step = 0;
    if (me == 0)
        u[0][1] = u[1][1] = 1; /* the hot end */
    shmem_barrier_all();
    do {
        double *now = u[step % 2], *next = u[(step + 1) % 2];
        uint64_t *signal = &arrived[step % 2];
        int neighbours = (me > 0) + (me < n - 1);
        if (me > 0)
            shmem_double_put_signal(&now[N + 1], &now[1], 1, signal, 1, SHMEM_SIGNAL_ADD, me - 1);
        if (me < n - 1)
            shmem_double_put_signal(&now[0], &now[N], 1, signal, 1, SHMEM_SIGNAL_ADD, me + 1);
        shmem_signal_wait_until(signal, SHMEM_CMP_GE, (uint64_t)(step / 2 + 1) * neighbours);
        change = 0;
        for (int i = 1; i <= N; i++) {
            int is_end = (me == 0 && i == 1) || (me == n - 1 && i == N);
            next[i] = is_end ? now[i] : now[i] + (now[i - 1] - 2 * now[i] + now[i + 1]) / 4;
            change = fmax(change, fabs(next[i] - now[i]));
        }
        /* All PEs learn the largest change, and none is a step ahead. */
        shmem_double_max_reduce(SHMEM_TEAM_WORLD, &largest, &change, 1);
        step++;
    } while (largest > 1e-4 && step < 10000);
    if (step == 10000 || (me == 0 && (u[step % 2][1] != 1 || u[step % 2][2] > 1 || u[step % 2][2] < 0.9)))
        shmem_global_exit(1);
    shmem_finalize();
}
