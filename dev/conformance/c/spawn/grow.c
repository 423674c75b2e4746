/* Jobs of several generations. The first argument is the way: children that start children, several programs in
 * one spawn, groups beside each other, many groups one after the other. */
#include "kept.h"

#include <dirent.h>
#include <shmemx.h>
#include <unistd.h>

static long visits;

static shmemx_group_t spawn(shmem_team_t team, char *program, const char *way, int n)
{
    shmemx_group_t group = SHMEMX_GROUP_INVALID;
    char *args[] = {(char *)way, NULL};
    shmemx_spawn_config_t config;
    config.argv = args;
    config.sheap_size = 1 << 20;
    REQUIRE(shmemx_spawn(team, 0, program, n, &config, SHMEMX_SPAWN_ARGV | SHMEMX_SPAWN_SHEAP_SIZE, &group) == 0);
    return group;
}

static void visit(shmemx_group_t group)
{
    for (int i = 0; i < shmemx_group_n_pes(group); i++)
        shmem_long_atomic_inc(&visits, shmemx_group_pe(group, i));
}

/* Each generation starts the next one, and is visited by it. */
static void generations(char *program, int left)
{
    char way[16];
    snprintf(way, sizeof way, "%d", left - 1);
    if (left == 0)
        return;
    shmemx_group_t children = spawn(SHMEM_TEAM_WORLD, program, way, 2);
    shmem_team_sync(shmemx_group_team(children));
    CHECK(visits >= 2, "%ld", visits);
}

/* Each half of the PEs has a group of its own, then both in the order of their numbers. */
static void beside(char *program)
{
    shmem_team_t half;
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_team_split_2d(SHMEM_TEAM_WORLD, (n + 1) / 2, NULL, 0, &half, NULL, 0, &(shmem_team_t){0});
    shmemx_group_t first = spawn(half, program, "visit", 2);
    shmemx_group_t second = spawn(SHMEM_TEAM_WORLD, program, "visit", 1 + n % 2);
    CHECK(shmemx_group_pe(first, 0) != shmemx_group_pe(second, 0));
    shmem_team_sync(shmemx_group_team(second));
    if (me % 2 == 0)
        usleep(3000);
    shmem_team_sync(shmemx_group_team(first));
    CHECK(visits == 2 + 1 + n % 2, "%ld", visits);
    shmemx_group_disconnect(first);
    long before = visits;
    visit(second);
    shmem_barrier_all();
    CHECK(visits == before);
}

static void one_after_the_other(char *program, int rounds)
{
    const int settled = rounds / 10 + 2;
    struct kept mine = {0, 0, 0, 0}, launcher = mine;
    int last = 0;
    for (int i = 0; i < rounds; i++) {
        shmemx_group_t group = spawn(SHMEM_TEAM_WORLD, program, "visit", rounds < 100 ? 1 + i % 3 : 1);
        int number = shmemx_group_pe(group, 0);
        CHECK(number > last, "%d after %d", number, last);
        last = number;
        visit(group);
        shmem_team_sync(shmemx_group_team(group));
        shmemx_group_disconnect(group);
        if (i == settled)
            mine = kept(getpid()), launcher = kept(getppid());
    }
    not_more("PE", getpid(), mine);
    not_more("oshrun", getppid(), launcher);
}

static void several_programs(char *program)
{
    char *commands[] = {program, program};
    int npes[] = {1, 2};
    char *first[] = {"visit", NULL}, *second[] = {"visit", NULL}, *env[] = {"WHO=second", NULL};
    shmemx_spawn_config_t configs[2];
    configs[0].argv = first;
    configs[1].argv = second;
    configs[1].env = env;
    long masks[] = {SHMEMX_SPAWN_ARGV, SHMEMX_SPAWN_ARGV | SHMEMX_SPAWN_ENV};
    shmemx_group_t group;
    REQUIRE(shmemx_spawn_multiple(SHMEM_TEAM_WORLD, 0, 2, commands, npes, configs, masks, &group) == 0);
    CHECK(shmemx_group_n_pes(group) == 3, "%d", shmemx_group_n_pes(group));
    shmem_team_sync(shmemx_group_team(group));
    CHECK(visits == 3, "%ld", visits);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    shmem_init();
    char *way = argv[1];
    shmemx_group_t parents = shmemx_group_parents();
    if (parents != SHMEMX_GROUP_INVALID) {
        visit(parents);
        shmem_team_sync(shmemx_group_team(parents));
    }
    if (strcmp(way, "visit") == 0)
        CHECK(parents != SHMEMX_GROUP_INVALID);
    else if (strcmp(way, "beside") == 0)
        beside(argv[0]);
    else if (strcmp(way, "rounds") == 0)
        one_after_the_other(argv[0], 40);
    else if (strcmp(way, "thousand") == 0)
        one_after_the_other(argv[0], 1000);
    else if (strcmp(way, "several") == 0)
        several_programs(argv[0]);
    else
        generations(argv[0], atoi(way));
    return finish();
}
