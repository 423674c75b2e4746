/* Where PEs that are spawned run: the first argument says what the configuration has. The parent, one PE that is not
 * bound, is given the CPUs of each child. */
#define _GNU_SOURCE
#include "way.h"

#include <sched.h>
#include <shmemx.h>
#include <unistd.h>

enum { CHILDREN = 4 };

static int counts[CHILDREN], firsts[CHILDREN], words[CHILDREN];

/* How many CPUs this process may use, and the first of them. */
static int cpus(int *first)
{
    cpu_set_t set;
    REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
    for (*first = 0; !CPU_ISSET(*first, &set);)
        ++*first;
    return CPU_COUNT(&set);
}

static void child(shmemx_group_t parents, int n_words)
{
    int first, me = shmem_my_pe(), parent = shmemx_group_pe(parents, 0);
    shmem_int_p(&counts[me], cpus(&first), parent);
    shmem_int_p(&firsts[me], first, parent);
    shmem_int_p(&words[me], n_words, parent);
    shmemx_group_disconnect(parents);
}

/* The configuration as it was when programs were compiled that know no more. */
struct first_config {
    char *const *argv;
    char *const *env;
    const char *wdir;
    size_t sheap_size;
};

int main(int argc, char **argv)
{
    shmem_init();
    shmemx_group_t group = shmemx_group_parents();
    if (group != SHMEMX_GROUP_INVALID) {
        child(group, argc);
        shmem_finalize();
        return 0;
    }
    way = argv[1];
    char host[256], list[16], *two[] = {"a", "b", NULL}, *three[] = {"a", "b", "c", NULL};
    int first, all = cpus(&first), status;
    shmemx_spawn_config_t config = {0};
    long mask = 0;
    REQUIRE(gethostname(host, sizeof host) == 0);
    snprintf(list, sizeof list, "%d", first);
    if (is("hwthread") || is("corse"))
        config.bind_to = way, mask = SHMEMX_SPAWN_BIND_TO;
    if (is("none"))
        config.bind_to = way, config.map_by = "spread", mask = SHMEMX_SPAWN_BIND_TO | SHMEMX_SPAWN_MAP_BY;
    if (is("cpus") || is("host"))
        config.cpus = list, config.host = host, mask = SHMEMX_SPAWN_CPUS | SHMEMX_SPAWN_HOST;
    if (is("cores"))
        config.cores = 1, mask = SHMEMX_SPAWN_CORES;
    if (is("no-cores"))
        mask = SHMEMX_SPAWN_CORES;
    if (is("no-such-cpu"))
        config.cpus = "65000", mask = SHMEMX_SPAWN_CPUS;
    if (is("no-list"))
        config.cpus = "all", mask = SHMEMX_SPAWN_CPUS;
    if (is("other-host"))
        config.host = "no-such-host", mask = SHMEMX_SPAWN_HOST;
    if (is("several") || is("differ")) {
        char *commands[] = {argv[0], argv[0]};
        shmemx_spawn_config_t configs[2] = {config, config};
        configs[0].argv = two, configs[1].argv = three;
        configs[0].bind_to = "hwthread", configs[1].bind_to = is("differ") ? "core" : "hwthread";
        long masks[] = {SHMEMX_SPAWN_ARGV | SHMEMX_SPAWN_BIND_TO, SHMEMX_SPAWN_ARGV | SHMEMX_SPAWN_BIND_TO};
        status = shmemx_spawn_multiple(SHMEM_TEAM_WORLD, 0, 2, commands, (int[]){1, 3}, configs, masks, &group);
    } else if (is("compiled-before")) {
        char *commands[] = {argv[0], argv[0]};
        struct first_config configs[2] = {{.argv = two}, {.argv = three}};
        status = shmemx_spawn_multiple(SHMEM_TEAM_WORLD, 0, 2, commands, (int[]){1, 3},
                                       (const shmemx_spawn_config_t *)(const void *)configs, (long[]){1, 1}, &group);
    } else {
        status = shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], CHILDREN, &config, mask, &group);
    }
    if (status != 0) {
        puts("refused");
    } else {
        shmemx_group_disconnect(group);
        for (int i = 0; i < CHILDREN; i++) {
            int is_one = is("hwthread") || is("cpus") || is("several");
            CHECK(counts[i] >= 1 && counts[i] <= (is_one ? 1 : all), "PE %d: %d of %d", i, counts[i], all);
            if (is("cpus"))
                CHECK(firsts[i] == first, "PE %d: CPU %d, not %d", i, firsts[i], first);
            if (is("none"))
                CHECK(counts[i] == all, "PE %d: %d of %d", i, counts[i], all);
            if (is("several") || is("compiled-before"))
                CHECK(words[i] == (i == 0 ? 3 : 4), "PE %d: %d", i, words[i]);
        }
    }
    return finish();
}
