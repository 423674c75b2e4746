/* Sorts random numbers of all PEs: each PE gets those of its range, and sorts them. */
#include <shmem.h>
#include <stdlib.h>

#define N 10000 /* numbers of each PE */
#define MOST 64 /* PEs */

static long to[MOST], from[MOST]; /* how many numbers go to, and come from, each PE */
static long place[MOST];          /* where this PE's numbers begin on each PE */
static long starts[MOST];         /* where those of each PE begin here */

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (n > MOST)
        shmem_global_exit(2);
    uint32_t *numbers = malloc(N * sizeof *numbers);
    srand(me + 1);
    for (long i = 0; i < N; i++)
        numbers[i] = ((uint32_t)rand() << 16) ^ (uint32_t)rand();
    /* Ordered, the numbers for each PE are next to each other. */
    qsort(numbers, N, sizeof *numbers, compare);
    uint64_t width = (UINT64_C(1) << 32) / n + 1; /* of a PE's range */
    for (long i = 0; i < N; i++)
        to[numbers[i] / width]++;

    shmem_long_alltoall(SHMEM_TEAM_WORLD, from, to, 1);
    for (int pe = 1; pe < n; pe++)
        starts[pe] = starts[pe - 1] + from[pe - 1];
    shmem_long_alltoall(SHMEM_TEAM_WORLD, place, starts, 1);

    static long all, most;
    all = starts[n - 1] + from[n - 1];
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &most, &all, 1);
    uint32_t *sorted = shmem_malloc(most * sizeof *sorted); /* the same size on all */
    if (sorted == NULL)
        shmem_global_exit(2);
    const uint32_t *piece = numbers;
    for (int pe = 0; pe < n; piece += to[pe++])
        if (to[pe] > 0)
            shmem_uint32_put(&sorted[place[pe]], piece, to[pe], pe);
    shmem_barrier_all();
    qsort(sorted, all, sizeof *sorted, compare);

    /* In range, and none lost. */
    static long total;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &all, 1);
    if (total != (long)N * n ||
        (all > 0 && (sorted[0] / width != (uint64_t)me || sorted[all - 1] / width != (uint64_t)me)))
        shmem_global_exit(1);
    shmem_finalize();
}
