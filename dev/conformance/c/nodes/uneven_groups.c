/* Reductions of a team that has two PEs on some nodes and one on others: PEs 0 to 4 of 6, round robin on 3. */
#include "../check.h"

enum { MOST = 5000 };

static long own(int pe, int i)
{
    return (pe * 7919L + i * 104729L) % 1000003 - 500000;
}

static long dest[MOST], source[MOST];

static void reduce(shmem_team_t team, int n, int in_place)
{
    int size = shmem_team_n_pes(team);
    long *from = in_place ? dest : source;
    for (int is_min = 0; is_min < 2; is_min++) {
        for (int i = 0; i < n; i++) {
            dest[i] = -1;
            source[i] = own(shmem_my_pe(), i);
            from[i] = source[i];
        }
        shmem_team_sync(team);
        CHECK((is_min ? shmem_long_min_reduce : shmem_long_sum_reduce)(team, dest, from, n) == 0);
        for (int i = 0; i < n; i++) {
            long expected = own(0, i);
            for (int pe = 1; pe < size; pe++)
                expected = !is_min ? expected + own(pe, i) : own(pe, i) < expected ? own(pe, i) : expected;
            REQUIRE(dest[i] == expected, "%s of %d, in place %d: element %d is %ld, not %ld",
                    is_min ? "minimum" : "sum", n, in_place, i, dest[i], expected);
            CHECK(in_place || source[i] == own(shmem_my_pe(), i));
        }
        shmem_team_sync(team);
    }
}

int main(void)
{
    shmem_init();
    REQUIRE(shmem_n_pes() == 6);
    shmem_team_t team;
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 5, NULL, 0, &team) == 0);
    if (team != SHMEM_TEAM_INVALID)
        for (int in_place = 0; in_place < 2; in_place++)
            for (int n = 1; n <= MOST; n = n * 7 + 1)
                reduce(team, n, in_place);
    if (team != SHMEM_TEAM_INVALID)
        reduce(team, MOST, 0);
    shmem_barrier_all();
    int status = check_status();
    shmem_finalize();
    return status;
}
