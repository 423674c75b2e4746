/* Settings that hold for the whole job. Argument: what must hold on all PEs.
 *   exact   floating-point sums are those of SHMEM_REPRODUCIBLE=1
 *   small   the symmetric heap has less than 64 MiB
 *   any     collectives end, with the right results */
#include "check.h"

enum { N = 5000 };

static long dest[N], source[N];
static double sum, part;

static void collectives(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++)
            source[i] = me + i + round;
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, round % 2 ? N : 3);
        CHECK(dest[2] == (long)n * (n - 1) / 2 + (long)n * (2 + round), "%ld", dest[2]);
        shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 20, n - 1);
        CHECK(dest[7] == n - 1 + 7 + round, "%ld", dest[7]);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    collectives();
    if (strcmp(argv[1], "exact") == 0) {
        /* In PE order, the ones are lost. */
        part = me % 4 == 0 ? 0x1p60 : me % 4 == 2 ? -0x1p60 : 1;
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &sum, &part, 1);
        CHECK(sum == n / 2, "%g", sum);
    }
    if (strcmp(argv[1], "small") == 0)
        CHECK(shmem_malloc((size_t)64 << 20) == NULL);
    shmem_barrier_all();
    return finish();
}
