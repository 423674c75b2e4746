/* Two jobs on different nodes, or of another launcher than oshrun: every kind of operation between them, and
 * collectives of both. The first argument says what this one does: it accepts or connects at a port, whose text goes
 * through the file that the second argument names; or it accepts the PEs that it starts, whose number is the second
 * argument, and which get the third as their first. With OTHER it is another program, whose globals are others. */
#define _GNU_SOURCE
#include "kept.h"
#include "operations.h"
#include "way.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#ifdef OTHER
char more[5000];
#endif
static long from[PES * 512], to[PES * 512];

static void *lent(shmemx_group_t group, const char *name, void *own, size_t size)
{
    void *imported = shmemx_import(group, name, size);
    REQUIRE(imported != NULL);
#ifndef MIXED
    CHECK(imported == own);
#else
    CHECK(imported != own);
#endif
    return imported;
}

#define LEND(name) REQUIRE(shmemx_export(#name, &name, sizeof name) == 0)
#define FIND(name) there.name = lent(group, #name, &name, sizeof name)

static void lend(void)
{
    LEND(cells);
    LEND(counter);
    LEND(swapped);
    LEND(word);
    LEND(big);
    LEND(stepped);
    LEND(blocks);
    LEND(halves);
    LEND(signals);
    LEND(host);
}

static void find(shmemx_group_t group)
{
    FIND(cells), FIND(counter), FIND(swapped), FIND(word), FIND(big), FIND(stepped), FIND(blocks);
    FIND(halves), FIND(signals), FIND(host);
    CHECK(shmemx_import(group, "none", 8) == NULL);
}

/* The first PEs put much to each other, which nothing waits for but the barrier. */
static void put_much(shmemx_group_t group)
{
    static long copy[LONG];
    for (int i = 0; i < LONG; i++)
        copy[i] = 3 * i;
    for (int round = 0; round < 10; round++) {
        copy[7] = round;
        if (shmem_my_pe() == 0)
            shmem_long_put(there.big, copy, LONG, shmemx_group_pe(group, 0));
        shmemx_group_barrier(group);
        if (shmem_my_pe() == 0)
            CHECK(big[7] == round && big[LONG - 1] == 3L * (LONG - 1), "%ld, %ld", big[7], big[LONG - 1]);
        shmemx_group_sync(group);
    }
}

static void contexts(shmemx_group_t group, int n)
{
    shmem_ctx_t ctx, other;
    REQUIRE(shmemx_group_create_ctx(group, 0, &ctx) == 0);
    REQUIRE(shmemx_group_create_ctx(group, SHMEM_CTX_PRIVATE, &other) == 0);
    long *mine = &there.big[0], value = 5 + shmem_my_pe();
    for (int i = 0; i < n; i++) {
        shmem_ctx_long_p(ctx, &mine[100 + shmem_my_pe()], value, i);
        shmem_ctx_fence(ctx);
        shmem_ctx_long_put(other, &mine[200 + shmem_my_pe()], &value, 1, i);
    }
    shmem_ctx_quiet(ctx);
    shmem_ctx_quiet(other);
    shmemx_group_sync(group);
    for (int i = 0; i < n; i++)
        CHECK(big[100 + i] == 5 + i && big[200 + i] == 5 + i, "%ld, %ld", big[100 + i], big[200 + i]);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(other);
    shmemx_group_sync(group);
}

static void collect(shmemx_group_t group, int me, int first, int n)
{
    int all = n + shmem_n_pes(), accepts = first != 0;
    for (int count = 1; count <= 512; count *= 8) {
        for (int root = 0; root < 2; root++) {
            /* PE 0, then the last one of the group that accepts, then of the other. */
            int here = root == 0 ? 0 : shmem_n_pes() - 1, far = root == 0 ? 0 : n - 1;
            for (int side = 0; side < 2; side++) {
                int sends = (side == 0) == accepts;
                for (int i = 0; i < count; i++)
                    from[i] = 10000L * root + 100 * side + i, to[i] = -1;
                int part = !sends ? far : shmem_my_pe() == here ? SHMEMX_ROOT : SHMEMX_PROC_NULL;
                REQUIRE(shmemx_group_broadcastmem(group, to, from, count * sizeof(long), part) == 0);
                long expected = sends ? -1 : 10000L * root + 100 * side + count - 1;
                CHECK(to[count - 1] == expected, "%ld, %ld", to[count - 1], expected);
            }
        }
        for (int i = 0; i < count * n; i++)
            from[i] = 1000L * me + i;
        size_t bytes = count * sizeof(long);
        REQUIRE(shmemx_group_fcollectmem(group, to, bytes, from, bytes) == 0);
        for (int i = 0; i < n; i++)
            CHECK(to[i * count] == 1000L * (first + i) && to[i * count + count - 1] == 1000L * (first + i) + count - 1);
        REQUIRE(shmemx_group_alltoallmem(group, to, bytes, from, bytes) == 0);
        for (int i = 0; i < n; i++)
            CHECK(to[i * count] == 1000L * (first + i) + (long)shmem_my_pe() * count, "%ld", to[i * count]);
        REQUIRE(shmemx_long_group_sum_reduce(group, to, from, count) == 0);
        long sum = 0;
        for (int i = 0; i < n; i++)
            sum += 1000L * (first + i) + count - 1;
        CHECK(to[count - 1] == sum, "%ld, %ld", to[count - 1], sum);
        REQUIRE(shmemx_long_group_max_reduce(group, to, from, count) == 0);
        CHECK(to[0] == 1000L * (first + n - 1), "%ld of %d", to[0], all);
    }
    static char bytes[300001], result[300001];
    memset(bytes, me, sizeof bytes);
    REQUIRE(shmemx_group_barrier(group) == 0);
    REQUIRE(shmemx_schar_group_max_reduce(group, (signed char *)result, (signed char *)bytes, sizeof bytes) == 0);
    CHECK(result[0] == first + n - 1 && result[300000] == first + n - 1, "%d", result[300000]);
    REQUIRE(shmemx_group_fcollectmem(group, to, 0, from, 0) == 0);
    for (int i = 0; i < 100; i++)
        REQUIRE(shmemx_group_sync(group) == 0);
    CHECK(shmemx_group_team(SHMEMX_GROUP_INVALID) == SHMEM_TEAM_INVALID);
}

/* A connected socket between the roots of both groups, whose address goes through the file. */
static int between(int accepts, const char *file)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char text[SHMEMX_MAX_PORT_NAME], port[SHMEMX_MAX_PORT_NAME];
    int end = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(end >= 0);
    if (!accepts) {
        char *colon;
        read_text(file, text);
        REQUIRE((colon = strrchr(text, ':')) != NULL);
        *colon = 0;
        address.sin_port = htons(atoi(colon + 1));
        REQUIRE(inet_pton(AF_INET, text, &address.sin_addr) == 1);
        REQUIRE(connect(end, (struct sockaddr *)&address, sizeof address) == 0);
        return end;
    }
    /* The host's address is in the text of a port. */
    REQUIRE(shmemx_port_open(port) == 0);
    char *at = port;
    for (int i = 0; i < 4; i++)
        REQUIRE((at = strchr(at, ':')) != NULL && *++at != 0);
    *strrchr(at, ':') = 0;
    socklen_t size = sizeof address;
    REQUIRE(listen(end, 1) == 0 && getsockname(end, (struct sockaddr *)&address, &size) == 0);
    snprintf(text, sizeof text, "%.60s:%d", at, (int)ntohs(address.sin_port));
    write_text(file, text);
    int accepted = accept(end, NULL, NULL);
    REQUIRE(accepted >= 0);
    close(end);
    return accepted;
}

static int files(void)
{
    return entries(getpid(), "fd");
}

/* Connects and disconnects many times, with two connections at once in between. */
static void rounds(int accepts, const char *port, int n)
{
    int before = 0;
    for (int i = 0; i < n; i++) {
        shmemx_group_t one, two;
        meet_at(accepts, port, 0, &one);
        meet_at(accepts, port, 0, &two);
        CHECK(shmemx_group_pe(one, 0) != shmemx_group_pe(two, 0));
        counter = 0;
        shmemx_group_sync(one);
        for (int pe = 0; pe < shmemx_group_n_pes(one); pe++) {
            shmem_long_atomic_inc(&counter, shmemx_group_pe(one, pe));
            shmem_long_atomic_inc(&counter, shmemx_group_pe(two, pe));
        }
        /* In another order than the other group's. */
        shmemx_group_barrier(two);
        CHECK(counter == 2L * shmemx_group_n_pes(one), "%ld", counter);
        shmemx_group_disconnect(one);
        shmemx_group_sync(two);
        shmemx_group_disconnect(two);
        if (i == 2)
            before = files();
    }
    CHECK(files() <= before + 2, "%d, %d", before, files());
}

/* Starts the other group. Of several programs, the second has arguments, a variable and a directory of its own. */
static void start(char **argv, int root, shmemx_group_t *group)
{
    char *first[] = {argv[3], "0", NULL}, *second[] = {argv[3], "0", "two words", "", NULL};
    char *env[] = {"SECOND=a = b", NULL}, *programs[] = {argv[0], argv[0]};
    shmemx_spawn_config_t configs[2];
    long masks[2] = {SHMEMX_SPAWN_ARGV, SHMEMX_SPAWN_ARGV | SHMEMX_SPAWN_ENV | SHMEMX_SPAWN_WDIR};
    int n[2] = {1, atoi(argv[2]) - 1}, rc;
    configs[0].argv = first;
    configs[1].argv = second;
    configs[1].env = env;
    configs[1].wdir = "/";
    if (has("-on-")) {
        configs[0].host = strstr(way, "-on-") + 4;
        masks[0] |= SHMEMX_SPAWN_HOST;
        masks[1] |= SHMEMX_SPAWN_HOST;
    }
    if (has("several")) {
        configs[1].host = configs[0].host;
        rc = shmemx_spawn_multiple(SHMEM_TEAM_WORLD, root, 2, programs, n, configs, masks, group);
    } else {
        rc = shmemx_spawn(SHMEM_TEAM_WORLD, root, argv[0], n[0] + n[1], configs, masks[0], group);
    }
    REQUIRE(rc == 0 && *group != SHMEMX_GROUP_INVALID);
}

/* This PE was started: as it should be. */
static void started(int argc, char **argv, shmemx_group_t *group)
{
    char folder[1000], host[100];
    const char *second = getenv("SECOND");
    *group = shmemx_group_parents();
    REQUIRE(*group != SHMEMX_GROUP_INVALID);
    REQUIRE(getcwd(folder, sizeof folder) != NULL && gethostname(host, sizeof host) == 0);
    if (argc > 3) {
        CHECK(shmem_my_pe() > 0 && argc == 5 && strcmp(argv[3], "two words") == 0 && *argv[4] == 0);
        CHECK(second != NULL && strcmp(second, "a = b") == 0, "%s", second);
        CHECK(strcmp(folder, "/") == 0, "%s", folder);
    } else {
        CHECK(second == NULL && strcmp(folder, "/") != 0, "%s", folder);
    }
    /* No launcher of the trials binds PEs. */
    cpu_set_t own, all;
    REQUIRE(sched_getaffinity(0, sizeof own, &own) == 0 && sched_getaffinity(getppid(), sizeof all, &all) == 0);
    CHECK(CPU_EQUAL(&own, &all), "%d of %d CPUs", CPU_COUNT(&own), CPU_COUNT(&all));
    printf("started on %s\n", host);
    fflush(stdout);
}

/* Starts PEs many times, which may start others. */
static void generations(char **argv, shmemx_group_t parents)
{
    int before = 0, n = has("rounds") ? 8 : has("more") ? 1 : 0;
    if (has("child"))
        shmem_long_atomic_inc(&counter, shmemx_group_pe(parents, 0));
    for (int i = 0; i < n; i++) {
        shmemx_group_t group;
        char *last[] = {argv[0], argv[1], "1", "connect-child-brief"};
        counter = 0;
        shmem_barrier_all();
        start(has("child") ? last : argv, 0, &group);
        shmemx_group_barrier(group);
        if (shmem_my_pe() == 0)
            CHECK(counter == shmemx_group_n_pes(group), "%ld", counter);
        shmemx_group_disconnect(group);
        if (i == 2)
            before = files();
    }
    CHECK(n < 3 || files() <= before + 2, "%d, %d", before, files());
    if (has("child")) {
        shmemx_group_barrier(parents);
        shmemx_group_disconnect(parents);
        CHECK(shmemx_group_parents() == SHMEMX_GROUP_INVALID);
    }
}

static void fail(shmemx_group_t group)
{
    int last = shmem_my_pe() == shmem_n_pes() - 1;
    shmemx_group_sync(group);
    if (has("crash") && last)
        raise(SIGSEGV);
    if (has("leave") && last)
        _exit(0);
    if (has("misuse"))
        shmem_long_p(&cells[0], 1, -1);
    if (has("parts"))
        shmemx_group_disconnect(group);
    if (has("exit-3"))
        shmem_global_exit(3);
    if (shmem_my_pe() == 0) {
        printf("waiting\n");
        fflush(stdout);
    }
    if (has("sync"))
        shmemx_group_sync(group);
    if (has("idle"))
        sleep(1000);
    shmem_long_wait_until(&cells[0], SHMEM_CMP_EQ, 123456);
}

/* Connects or starts PEs in vain, after which the job goes on. */
static void refused(char **argv)
{
    static char word[100000];
    char *args[] = {word, NULL};
    shmemx_spawn_config_t config;
    shmemx_group_t group;
    int rc;
    memset(word, 'x', sizeof word - 1);
    config.argv = args;
    if (has("independent"))
        rc = shmemx_port_connect_independent(SHMEM_TEAM_WORLD, 0, argv[2], &group);
    else if (has("refused-long"))
        rc = shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], 1, &config, SHMEMX_SPAWN_ARGV, &group);
    else if (has("refused-on")) {
        config.host = strstr(way, "-on-") + 4;
        rc = shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], 2, &config, SHMEMX_SPAWN_HOST, &group);
    } else {
        rc = shmemx_port_connect(SHMEM_TEAM_WORLD, 0, argv[2], &group);
    }
    CHECK(rc == -1 && group == SHMEMX_GROUP_INVALID);
    puts("refused");
}

int main(int argc, char **argv)
{
    char port[SHMEMX_MAX_PORT_NAME] = "";
    shmemx_group_t group;
    REQUIRE(argc >= 2);
    way = argv[1];
    shmem_init();
    if (has("refused") || has("independent")) {
        refused(argv);
        return finish();
    }
    int spawns = has("spawn"), is_child = has("child");
    int accepts = has("accept"), root = has("first") ? 0 : shmem_n_pes() - 1;
    long *heap = shmem_calloc(2 * PES, sizeof(long));
    if (has("rounds") || has("fail"))
        root = 0;
    int joins = has("join"), end = -1;
    if (is_child)
        started(argc, argv, &group);
    if (has("brief") || has("spawn-rounds")) {
        generations(argv, is_child ? group : SHMEMX_GROUP_INVALID);
        return finish();
    }
    int is_at_port = shmem_my_pe() == root && !spawns && !is_child;
    if (is_at_port && joins)
        end = between(accepts, argv[2]);
    else if (is_at_port)
        find_port(accepts, argv[2], port);
    host = this_host();
    lend();
    shmem_barrier_all();
    if (has("rounds")) {
        rounds(accepts, port, atoi(argv[3]));
        return finish();
    }
    if (has("late"))
        sleep(1);
    if (spawns)
        start(argv, root, &group);
    else if (joins)
        REQUIRE(shmemx_join(SHMEM_TEAM_WORLD, root, end, &group) == 0);
    else if (!is_child)
        meet_at(accepts, port, root, &group);
    /* PEs that are started export what they have after they are connected. */
    if (spawns || is_child)
        shmemx_group_sync(group);
    if (has("fail"))
        fail(group);
    int others = shmemx_group_n_pes(group), first = accepts ? shmem_n_pes() : 0;
    int me = shmem_my_pe() + (accepts ? 0 : others);
    REQUIRE(others > 0 && others + shmem_n_pes() <= PES);
    CHECK(shmemx_group_pe(group, others) == -1 && shmemx_group_pe(group, 0) >= shmem_n_pes());
    find(group);
    put_and_get(group, me, first, others, heap);
    put_much(group);
    update(group, me, first, others);
    contexts(group, others);
    collect(group, me, first, others);
    /* What is allocated later is reached as well. */
    long *later = shmem_calloc(1 << 20, sizeof(long));
    shmemx_group_sync(group);
    for (int i = 0; i < others; i++)
        shmem_long_p(&later[(1 << 20) - 1 - me], 9, shmemx_group_pe(group, i));
    shmemx_group_barrier(group);
    CHECK(later[(1 << 20) - 1 - first] == 9, "%ld", later[(1 << 20) - 1 - first]);
    /* The own world goes on as ever. */
    shmem_barrier_all();
    from[0] = shmem_my_pe();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, 1);
    CHECK(to[0] == (long)shmem_n_pes() * (shmem_n_pes() - 1) / 2, "%ld", to[0]);
#ifdef OTHER
    more[shmem_my_pe()] = 1;
#endif
    if (!has("finalize"))
        shmemx_group_disconnect(group);
    return finish();
}
