/* Parents and children of one program: every kind of operation on PEs of the other group, and collectives of both.
 * The first argument is the number of children. With MEET two jobs that connect: the first argument says whether this
 * one accepts or connects, the second names a file for the text of the port. */
#include "operations.h"

enum { LONGEST = 1 << 16 };

static long from[LONGEST], to[LONGEST];

static void collect(shmemx_group_t group, int me)
{
    shmem_team_t all = shmemx_group_team(group);
    int n = shmem_team_n_pes(all);
    for (int bytes = 8; bytes <= (int)sizeof from; bytes *= 16) {
        int count = bytes / 8;
        for (int i = 0; i < count; i++)
            from[i] = me + i;
        CHECK(shmem_long_sum_reduce(all, to, from, count) == 0);
        for (int i = 0; i < count; i++)
            CHECK(to[i] == (long)n * (n - 1) / 2 + (long)n * i, "%d: %ld", i, to[i]);
        CHECK(shmem_long_max_reduce(all, to, from, count) == 0);
        CHECK(to[count - 1] == n - 1 + count - 1, "%ld", to[count - 1]);
        for (int root = 0; root < n; root += n - 1 > 0 ? n - 1 : 1) {
            CHECK(shmem_long_broadcast(all, to, from, count, root) == 0);
            CHECK(to[0] == root && to[count - 1] == root + count - 1, "%ld", to[0]);
            shmem_team_sync(all);
        }
        if (count * n <= LONGEST) {
            for (int i = 0; i < count * n; i++)
                from[i] = me + i;
            CHECK(shmem_long_fcollect(all, to, from, count) == 0);
            for (int i = 0; i < n; i++)
                CHECK(to[i * count] == i, "%ld", to[i * count]);
            shmem_team_sync(all);
            CHECK(shmem_long_alltoall(all, to, from, count) == 0);
            for (int i = 0; i < n; i++)
                CHECK(to[i * count] == i + me * count, "%ld", to[i * count]);
        }
        shmem_team_sync(all);
    }
    for (int i = 0; i < 200; i++)
        shmem_team_sync(all);
    shmem_ctx_t ctx;
    REQUIRE(shmem_team_create_ctx(all, 0, &ctx) == 0);
    shmem_ctx_long_p(ctx, &cells[me], 5 * me, (me + 1) % n);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(all);
    int left = (me + n - 1) % n;
    CHECK(cells[left] == 5 * left, "%ld", cells[left]);
    shmem_ctx_destroy(ctx);
    shmem_team_sync(all);
}

#ifdef MEET
static int group_of(int argc, char **argv, shmemx_group_t *group)
{
    char port[SHMEMX_MAX_PORT_NAME] = "";
    REQUIRE(argc == 3);
    int connects = strcmp(argv[1], "connect") == 0, last = shmem_n_pes() - 1;
    if (shmem_my_pe() == last)
        find_port(!connects, argv[2], port);
    meet_at(!connects, port, last, group);
    return connects;
}
#else
/* Spawns, or is a child; whether it is. */
static int group_of(int argc, char **argv, shmemx_group_t *group)
{
    int is_child = (*group = shmemx_group_parents()) != SHMEMX_GROUP_INVALID;
    if (!is_child) {
        char *args[] = {argv[1], "one of two", NULL}, *env[] = {"COLOUR=dark blue", "EMPTY=", NULL};
        shmemx_spawn_config_t config;
        config.argv = args;
        config.env = env;
        config.wdir = "/";
        long mask = SHMEMX_SPAWN_ARGV | SHMEMX_SPAWN_ENV | SHMEMX_SPAWN_WDIR;
        REQUIRE(argc == 2 && shmemx_spawn(SHMEM_TEAM_WORLD, shmem_n_pes() - 1, argv[0], atoi(argv[1]),
                                          &config, mask, group) == 0);
    } else {
        char folder[100];
        CHECK(argc == 3 && strcmp(argv[2], "one of two") == 0);
        CHECK(getenv("COLOUR") != NULL && strcmp(getenv("COLOUR"), "dark blue") == 0);
        CHECK(getenv("EMPTY") != NULL && *getenv("EMPTY") == 0);
        CHECK(getcwd(folder, sizeof folder) != NULL && strcmp(folder, "/") == 0, "%s", folder);
        CHECK(shmem_n_pes() == atoi(argv[1]), "%d", shmem_n_pes());
    }
    return is_child;
}
#endif

int main(int argc, char **argv)
{
    shmemx_group_t group;
    shmem_init();
    host = this_host();
    int is_child = group_of(argc, argv, &group);
    long *heap = shmem_calloc(2 * PES, sizeof(long));
    shmem_team_t all = shmemx_group_team(group);
    int me = shmem_team_my_pe(all), others = shmemx_group_n_pes(group);
    REQUIRE(heap != NULL && shmem_team_n_pes(all) == shmem_n_pes() + others);
    CHECK(me == (is_child ? others : 0) + shmem_my_pe(), "%d", me);
    CHECK(shmemx_group_pe(group, others) == -1 && shmemx_group_pe(group, -1) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, shmem_my_pe(), all) == me);
    CHECK(shmem_team_translate_pe(all, me, SHMEM_TEAM_WORLD) == shmem_my_pe());
    /* What one group allocates, the other may not have yet. */
    shmem_team_sync(all);

    there.cells = cells, there.counter = &counter, there.swapped = &swapped, there.word = &word, there.big = big;
    there.stepped = stepped, there.blocks = blocks, there.halves = halves, there.signals = signals, there.host = &host;
    put_and_get(group, me, is_child ? 0 : shmem_n_pes(), others, heap);
    update(group, me, is_child ? 0 : shmem_n_pes(), others);
    collect(group, me);
    /* The own world goes on as ever. */
    shmem_barrier_all();
    from[0] = shmem_my_pe();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, 1);
    CHECK(to[0] == (long)shmem_n_pes() * (shmem_n_pes() - 1) / 2, "%ld", to[0]);
    if (me % 2 == 0)
        usleep(1000);
    if (argc > 1 && atoi(argv[1]) % 2 == 0)
        shmemx_group_disconnect(group);
    return finish();
}
