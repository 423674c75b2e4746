/* Parents and children of one program: every kind of operation on PEs of the other group, and collectives of both.
 * The first argument is the number of children. With MEET two jobs that connect: the first argument says whether this
 * one accepts or connects, the second names a file for the text of the port. */
#include "port.h"

enum { PES = 64, LONG = 1 << 16 };

static long cells[PES], counter, swapped, word;
static int stepped[2 * PES], blocks[4 * PES];
static double numbers[PES];
static uint64_t signals[2];
static long from[LONG], to[LONG];

/* Each PE of the other group gets what this one puts, at the place of this one's number. */
static void put_and_get(shmemx_group_t group, int me, int n, long *heap)
{
    shmem_team_t all = shmemx_group_team(group);
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        long value = 1000 + me;
        int two[2] = {me, -me};
        double number = me / 2.0;
        shmem_long_p(&cells[me], value, pe);
        shmem_double_put(&numbers[me], &number, 1, pe);
        shmem_int_iput(&stepped[me], two, PES, 1, 2, pe);
        shmem_int_put_nbi(&blocks[2 * me], two, 2, pe);
        shmem_putmem_nbi(&heap[me], &value, sizeof value, pe);
        shmem_fence();
        CHECK(shmem_pe_accessible(pe) == 1, "PE %d", pe);
        CHECK(shmem_addr_accessible(&counter, pe) == 1);
    }
    shmem_quiet();
    shmem_team_sync(all);
    int total = shmem_team_n_pes(all);
    for (int i = 0; i < total; i++) {
        if (shmem_team_translate_pe(all, i, SHMEM_TEAM_WORLD) >= 0)
            continue;
        CHECK(cells[i] == 1000 + i && heap[i] == 1000 + i, "%ld, %ld", cells[i], heap[i]);
        CHECK(numbers[i] == i / 2.0, "%g", numbers[i]);
        CHECK(stepped[i] == i && stepped[PES + i] == -i, "%d, %d", stepped[i], stepped[PES + i]);
        CHECK(blocks[2 * i] == i && blocks[2 * i + 1] == -i, "%d", blocks[2 * i]);
    }
    shmem_team_sync(all);
    word = 10 * me;
    heap[PES] = 20 * me;
    shmem_team_sync(all);
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        int member = shmem_team_translate_pe(all, 0, all);
        CHECK(member == 0);
        long there = shmem_long_g(&word, pe), got[2];
        CHECK(there % 10 == 0 && there / 10 != me, "%ld", there);
        shmem_getmem(&got[0], &heap[PES], sizeof(long), pe);
        shmem_long_iget(&got[1], &word, 1, 1, 1, pe);
        CHECK(got[0] == 2 * there && got[1] == there, "%ld %ld", got[0], got[1]);
        long *direct = shmem_ptr(&word, pe);
        CHECK(direct != NULL && *direct == there);
        direct = shmem_ptr(&heap[PES], pe);
        CHECK(direct != NULL && *direct == 2 * there);
    }
    shmem_team_sync(all);
}

static void update(shmemx_group_t group, int me, int n)
{
    shmem_team_t all = shmemx_group_team(group);
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        for (int k = 0; k < 1000; k++)
            shmem_long_atomic_inc(&counter, pe);
        shmem_long_atomic_fetch_add(&counter, 5, pe);
        for (long seen = 0; (seen = shmem_long_atomic_fetch(&swapped, pe)),
                  shmem_long_atomic_compare_swap(&swapped, seen, seen + 1, pe) != seen;)
            ;
        shmem_long_put_signal(&word, &from[0], 1, &signals[0], 1, SHMEM_SIGNAL_ADD, pe);
    }
    shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, n);
    shmem_team_sync(all);
    CHECK(counter == 1005L * n && swapped == n, "%ld, %ld", counter, swapped);
    /* A wait for a plain store of the other group, which comes late. */
    if (me == 0)
        usleep(20000);
    if (me == 0)
        for (int i = 0; i < n; i++)
            shmem_long_p(&word, 77, shmemx_group_pe(group, i));
    if (shmem_team_translate_pe(all, 0, SHMEM_TEAM_WORLD) < 0)
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 77);
}

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
        if (count * n <= LONG) {
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
    if (shmem_my_pe() == last && connects)
        read_text(argv[2], port);
    else if (shmem_my_pe() == last) {
        REQUIRE(shmemx_port_open(port) == 0);
        write_text(argv[2], port);
    }
    int status = connects ? shmemx_port_connect(SHMEM_TEAM_WORLD, last, port, group)
                          : shmemx_port_accept(SHMEM_TEAM_WORLD, last, port, group);
    REQUIRE(status == 0);
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

    put_and_get(group, me, others, heap);
    update(group, me, others);
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
    shmem_finalize();
    return check_status();
}
