/* The parts of programs that docs/book/mpi.md and docs/mpi.md show: the test puts them in place of their names. */
#include <shmem.h>
#include <shmemx.h>

enum { N = 8, MOST = 16 };

EDGES_DATA
RING_DATA
static long to[MOST], from[MOST], offset[MOST], place[MOST], start[MOST];
static double in[3 * MOST], out[3 * MOST], passed;

static void use(const double *in)
{
    passed += in[N - 1];
}

static void expect(int condition)
{
    if (!condition)
        shmem_global_exit(1);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), left = (me + n - 1) % n, right = (me + 1) % n;

    for (int step = 1; step <= 5; step++) {
        for (int i = 1; i <= N; i++)
            u[step % 2][i] = 1000 * step + me * N + i;
        change = step + me;
        EDGES
        expect(now[0] == 1000 * step + left * N + N && now[N + 1] == 1000 * step + right * N + 1);
        expect(largest == step + n - 1);
    }

    ring[0][N - 1] = me;
    shmem_barrier_all();
    RING
    expect(passed == n * (n - 1) / 2 - me);

    /* One to three elements for each. */
    for (int p = 0, at = 0; p < n; p++) {
        to[p] = (me + p) % 3 + 1;
        start[p] = at;
        for (int i = 0; i < to[p]; i++)
            out[at++] = 100 * me + p;
    }
    ALLTOALLV
    for (int p = 0, at = 0; p < n; p++)
        for (int i = 0; i < (me + p) % 3 + 1; i++)
            expect(in[at++] == 100 * p + me);
    expect(total == offset[n - 1] + from[n - 1]);

    ROOT
    expect(sum[0] == 0);
    shmem_finalize();
}
