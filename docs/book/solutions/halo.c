/* Smooths an array that is divided among the PEs, with halos of one element on both sides. */
#include <math.h>
#include <shmem.h>
#include <stdlib.h>

#define N 1000
#define STEPS 200

/* Halos from the left and from the right, for even and odd steps, and their signals. */
double left_halo[2], right_halo[2];
uint64_t left_signal, right_signal;

/* One step of all elements: the ends stay as they are. */
static void smooth(double *to, const double *from, long first, long n)
{
    for (long i = 0; i < n; i++)
        to[i] = first + i == 0 || first + i == N - 1 ? from[i] : (from[i - 1] + from[i + 1]) / 2;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long first = (long)N * me / n, mine = (long)N * (me + 1) / n - first;
    /* With a place for the halo at both ends. */
    double *a = calloc(mine + 2, sizeof *a), *b = calloc(mine + 2, sizeof *b);
    for (long i = 0; i < mine; i++)
        a[i + 1] = (first + i) % 10;

    for (uint64_t step = 0; step < STEPS; step++) {
        int turn = step % 2;
        if (me > 0)
            shmem_double_put_signal(&right_halo[turn], &a[1], 1, &right_signal, step + 1, SHMEM_SIGNAL_SET, me - 1);
        if (me < n - 1)
            shmem_double_put_signal(&left_halo[turn], &a[mine], 1, &left_signal, step + 1, SHMEM_SIGNAL_SET, me + 1);
        if (me > 0) {
            shmem_signal_wait_until(&left_signal, SHMEM_CMP_GE, step + 1);
            a[0] = left_halo[turn];
        }
        if (me < n - 1) {
            shmem_signal_wait_until(&right_signal, SHMEM_CMP_GE, step + 1);
            a[mine + 1] = right_halo[turn];
        }
        smooth(b + 1, a + 1, first, mine);
        double *swapped = a;
        a = b;
        b = swapped;
    }

    /* The same by one PE. */
    static double c[N + 2], d[N + 2];
    for (long i = 0; i < N; i++)
        c[i + 1] = i % 10;
    for (int step = 0; step < STEPS; step += 2) {
        smooth(d + 1, c + 1, 0, N);
        smooth(c + 1, d + 1, 0, N);
    }
    for (long i = 0; i < mine; i++)
        if (fabs(a[i + 1] - c[first + i + 1]) > 1e-12)
            shmem_global_exit(1);
    shmem_finalize();
}
