/* A PE fails where that ends the job: in one that is not resilient, before it is, after it was, or as the last one; or
 * in another way than by a signal, in a job of another launcher than oshrun, which goes on. */
#include "../check.h"

#include <shmemx.h>
#include <signal.h>
#include <unistd.h>

/* PE 1 fails in the way that is named, and the others go on. */
static int lose(const char *how)
{
    static int word;
    if (shmem_my_pe() == 1 && strcmp(how, "exits") == 0)
        exit(3);
    if (shmem_my_pe() == 1 && strcmp(how, "misuses") == 0)
        shmem_int_p(&word, 1, shmem_n_pes());
    if (shmem_my_pe() == 1)
        *(volatile int *)NULL = 1;
    shmem_uint64_wait_until(shmemx_failures(), SHMEM_CMP_EQ, 1);
    CHECK(shmemx_pe_state(1) == SHMEMX_PE_FAILED && shmemx_replace() == -1);
    shmem_team_t left;
    REQUIRE(shmemx_team_shrink(SHMEM_TEAM_WORLD, &left) == 0);
    CHECK(shmem_team_sync(left) == 0 && shmem_team_n_pes(left) == shmem_n_pes() - 1);
    printf("PE %d is left\n", shmem_my_pe());
    return finish();
}

/* Teams with one number, one after the other, whose members have agreed on different numbers of values before. */
static int agree_by_turns(void)
{
    REQUIRE(shmemx_resilient() == 0);
    for (int i = 1; i < 4; i++) {
        int n = shmem_n_pes(), value = ~0;
        shmem_team_t some, all;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n - 1, NULL, 0, &some) == 0);
        for (int k = 0; k < i && some != SHMEM_TEAM_INVALID; k++)
            CHECK(shmemx_team_agree(some, &value) == 0);
        shmem_team_destroy(some);
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all) == 0);
        value = ~(1 << shmem_my_pe());
        CHECK(shmemx_team_agree(all, &value) == 0 && value == ~((1 << n) - 1), "%#x", value);
        shmem_team_destroy(all);
    }
    return finish();
}

/* A team that is revoked is destroyed by PE 0 while others still come to it: they do not meet the team that it makes
 * next, alone. */
static int leave_early(void)
{
    static int has_made;
    static long source, dest;
    int me = shmem_my_pe(), value = 1;
    shmem_team_t alone, together, next;
    REQUIRE(shmemx_team_split_color(SHMEM_TEAM_WORLD, me, 0, NULL, 0, &alone) == 0);
    REQUIRE(shmemx_team_split_list(SHMEM_TEAM_WORLD, (const int[]){0, 1, 2}, 3, NULL, 0, &together) == 0);
    if (me == 0)
        CHECK(shmemx_team_revoke(together) == 0);
    CHECK(shmemx_team_agree(together, &value) == 0);
    if (me == 0) {
        shmem_team_destroy(together);
        REQUIRE(shmemx_team_split_color(alone, 0, 0, NULL, 0, &next) == 0);
        for (int pe = 1; pe < 3; pe++)
            shmem_int_p(&has_made, 1, pe);
    } else {
        shmem_int_wait_until(&has_made, SHMEM_CMP_EQ, 1);
        CHECK(shmem_team_sync(together) == -1);
        shmem_team_destroy(together);
    }
    shmem_barrier_all();
    if (me == 0)
        for (source = 1; source < 9; source++)
            CHECK(shmem_long_alltoall(next, &dest, &source, 1) == 0 && dest == source, "%ld", dest);
    /* More teams than there are numbers of them. */
    for (int i = 0; i < 10000; i++) {
        REQUIRE(shmemx_team_split_color(alone, 0, 0, NULL, 0, &next) == 0 && shmemx_team_revoke(next) == 0, "%d", i);
        shmem_team_destroy(next);
        if (i % 3 == 0) {
            REQUIRE(shmemx_team_shrink(alone, &next) == 0 && shmem_team_sync(next) == 0, "%d", i);
            shmem_team_destroy(next);
        }
    }
    printf("PE %d is left\n", me);
    return finish();
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    REQUIRE(argc > 1);
    const char *when = argv[1];
    if (strcmp(when, "teams") == 0)
        return agree_by_turns();
    if (strcmp(when, "refused") == 0) {
        CHECK(shmemx_resilient() != 0 && *shmemx_failures() == 0);
        int value = 5;
        CHECK(shmemx_team_agree(SHMEM_TEAM_WORLD, &value) == 0 && value == 5);
        shmem_team_t team;
        CHECK(shmemx_team_shrink(SHMEM_TEAM_WORLD, &team) == 0 && shmem_team_n_pes(team) == shmem_n_pes());
        CHECK(shmemx_team_failed(team, NULL, 0) == 0 && shmemx_team_failed(SHMEM_TEAM_INVALID, NULL, 0) == -1);
        CHECK(shmemx_team_agree(SHMEM_TEAM_INVALID, &value) == -1);
        CHECK(shmemx_team_shrink(SHMEM_TEAM_INVALID, &team) == -1 && team == SHMEM_TEAM_INVALID);
        return finish();
    }
    if (strcmp(when, "none") == 0 && me == 1)
        raise(SIGKILL);
    if (strcmp(when, "before") == 0 && me == 1)
        raise(SIGKILL);
    if (strcmp(when, "none") != 0)
        REQUIRE(shmemx_resilient() == 0 && shmemx_resilient() == 0);
    if (strcmp(when, "exits") == 0 || strcmp(when, "misuses") == 0 || strcmp(when, "crashes") == 0)
        return lose(when);
    if (strcmp(when, "leaves-early") == 0)
        return leave_early();
    if (strcmp(when, "all") == 0)
        raise(SIGKILL);
    /* Initialised again, the library goes on without a PE once it is asked to again, and not after failures. */
    if (strncmp(when, "again", 5) == 0) {
        if (strcmp(when, "again-lost") == 0 && me == 1)
            raise(SIGKILL);
        shmem_finalize();
        if (strcmp(when, "again-late") == 0 && me == 1) {
            usleep(100000); /* the others wait in shmem_init */
            raise(SIGKILL);
        }
        shmem_init();
        shmem_barrier_all();
        if (strcmp(when, "again-resilient") == 0) {
            REQUIRE(shmemx_resilient() == 0);
            if (me == 1)
                raise(SIGKILL);
            while (shmem_team_sync(SHMEM_TEAM_WORLD) == 0)
                ;
            return finish();
        }
        if (me == 1)
            raise(SIGKILL);
    }
    if (strcmp(when, "global-exit") == 0) {
        if (me == 1)
            raise(SIGKILL);
        shmem_uint64_wait_until(shmemx_failures(), SHMEM_CMP_EQ, 1);
        if (me == 2)
            shmem_global_exit(7);
    }
    for (;;)
        shmem_barrier_all();
}
