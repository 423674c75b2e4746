/* 4,096 teams alive at once, each usable; then destroyed out of order and created again. An
 * argument divides the numbers. */
#include "check.h"

enum { MOST = 4096 };

static shmem_team_t teams[MOST];
static int source, sum;

int main(int argc, char **argv)
{
    int part = argc > 1 ? atoi(argv[1]) : 1, many = MOST / part;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    source = me + 1;
    for (int i = 0; i < many; i++) {
        int size = 1 + i % n, start = i % (n - size + 1);
        int rc = shmem_team_split_strided(SHMEM_TEAM_WORLD, start, 1, size, NULL, 0, &teams[i]);
        REQUIRE(rc == 0, "team %d", i);
        CHECK((teams[i] != SHMEM_TEAM_INVALID) == (me >= start && me < start + size), "team %d", i);
    }
    for (int i = 0; i < many; i += i % 100 ? 1 : 13) {
        int size = 1 + i % n, start = i % (n - size + 1);
        if (teams[i] == SHMEM_TEAM_INVALID)
            continue;
        CHECK(shmem_team_n_pes(teams[i]) == size && shmem_team_my_pe(teams[i]) == me - start);
        if (i % 16 == 0) {
            shmem_team_sync(teams[i]);
            CHECK(shmem_int_sum_reduce(teams[i], &sum, &source, 1) == 0);
            int want = 0;
            for (int pe = start; pe < start + size; pe++)
                want += pe + 1;
            CHECK(sum == want, "team %d: %d, not %d", i, sum, want);
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < many; i++) {
        int k = (i * 1001 + 17) % many; /* 1001 is odd: every team is met once */
        if (teams[k] != SHMEM_TEAM_INVALID)
            shmem_team_destroy(teams[k]);
    }
    /* For ever created and destroyed: no cap on how many there were. */
    for (int i = 0; i < 40000 / part / n; i++) {
        shmem_team_t team;
        REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team) == 0,
                "round %d", i);
        REQUIRE(team != SHMEM_TEAM_INVALID && shmem_team_my_pe(team) == n - 1 - me, "round %d", i);
        shmem_team_destroy(team);
    }
    return finish();
}
