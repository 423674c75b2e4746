/* Independent groups: a job goes on when the other one ends, however that ends and whatever is waited for.
 *
 *     independent DEATH WAIT                         parents, which spawn children that die
 *     independent DEATH WAIT child                   these
 *     independent survive WAIT                       parents that die, and whose children go on
 *     independent accept|connect FILE WAIT           jobs that connect; who connects is killed
 *     independent accept|connect FILE WAIT DEATH     the same; who is given that dies by it
 *     independent many COUNT                         COUNT groups, one after the other, of which most die; over 40 */
#include "kept.h"
#include "port.h"

#include <signal.h>

enum { LONG = 20000 };

/* There may be PEs of other nodes, so that there is no team of both groups; this group has connected, and calls no
 * kernels. */
static int is_far, is_second;
static long cell, received[LONG * 16], sent[LONG * 16], sums[LONG];
static char port[SHMEMX_MAX_PORT_NAME];

static long runs;

SHMEMX_KERNEL(nothing, int)
void nothing(int unused)
{
    (void)unused;
    runs++;
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void end_by(const char *death)
{
    if (is(death, "crash"))
        raise(SIGSEGV);
    if (is(death, "kill"))
        raise(SIGKILL);
    if (is(death, "fail"))
        _exit(5);
    if (is(death, "leave"))
        exit(0);
    if (is(death, "end-all"))
        shmem_global_exit(9);
    if (is(death, "misuse"))
        shmem_long_p(&cell, 1, 1234);
    REQUIRE(0);
}

static void look_at(shmemx_group_t group)
{
    is_far = is_launched_by_other();
    for (int i = 0; i < shmemx_group_n_pes(group); i++)
        is_far |= shmem_ptr(&cell, shmemx_group_pe(group, i)) == NULL;
}

/* Takes part in what is waited for; -1 once the group has failed. */
static int wait_by(const char *wait, shmemx_group_t group)
{
    int n = shmemx_group_n_pes(group), mine = shmemx_group_parents() == group;
    shmem_team_t both = is_far ? SHMEM_TEAM_INVALID : shmemx_group_team(group);
    if (is(wait, "sync"))
        return shmemx_group_sync(group);
    if (is(wait, "barrier"))
        return shmemx_group_barrier(group);
    if (is(wait, "broadcast") || is(wait, "broadcast-long")) {
        int root = !mine ? 0 : shmem_my_pe() == 0 ? SHMEMX_ROOT : SHMEMX_PROC_NULL;
        size_t bytes = is(wait, "broadcast") ? 8 : sizeof sums;
        return shmemx_group_broadcastmem(group, received, sent, bytes, root);
    }
    if (is(wait, "fcollect"))
        return shmemx_group_fcollectmem(group, received, 8, sent, 8);
    if (is(wait, "fcollect-long"))
        return shmemx_group_fcollectmem(group, received, 8 * LONG, sent, 8 * LONG);
    if (is(wait, "alltoall"))
        return shmemx_group_alltoallmem(group, received, 8, sent, 8);
    if (is(wait, "alltoall-long"))
        return shmemx_group_alltoallmem(group, received, 8 * LONG, sent, 8 * LONG);
    if (is(wait, "reduce"))
        return shmemx_long_group_sum_reduce(group, sums, sent, 1);
    if (is(wait, "reduce-long"))
        return shmemx_long_group_sum_reduce(group, sums, sent, LONG);
    if (is(wait, "team-sync"))
        return shmem_team_sync(both);
    if (is(wait, "team-broadcast"))
        return shmem_long_broadcast(both, received, sent, LONG, 0);
    if (is(wait, "team-reduce"))
        return shmem_long_sum_reduce(both, sums, sent, 1);
    if (is(wait, "team-reduce-long"))
        return shmem_long_sum_reduce(both, sums, sent, LONG);
    if (is(wait, "team-collect"))
        return shmem_long_collect(both, received, sent, 1 + (size_t)shmem_my_pe());
    if (is(wait, "team-alltoall"))
        return shmem_long_alltoall(both, received, sent, 100);
    if (is(wait, "team-scan"))
        return shmem_long_sum_inscan(both, sums, sent, 1);
    if (is(wait, "kernels") && mine)
        return shmemx_kernel_serve() < 0 ? -1 : 0;
    if (is(wait, "kernels")) {
        shmemx_request_t request = shmemx_kernel_call(group, "nothing", 1);
        return request == SHMEMX_REQUEST_INVALID ? -1 : shmemx_kernel_wait(request);
    }
    if (is(wait, "kernel-tests")) {
        shmemx_request_t request = shmemx_kernel_call(group, "nothing", 1);
        int tested = 0;
        while (request != SHMEMX_REQUEST_INVALID && tested == 0)
            tested = shmemx_kernel_test(request);
        return tested == 1 ? 0 : -1;
    }
    if (is(wait, "queue")) {
        /* More than there is room for. */
        return shmemx_kernel_call(group, "nothing", n) == SHMEMX_REQUEST_INVALID ? -1 : 0;
    }
    if (is(wait, "variable")) {
        while (!shmem_long_test(&cell, SHMEM_CMP_EQ, 1000000))
            if (shmemx_group_state(group) != SHMEMX_GROUP_CONNECTED)
                return -1;
        return 0;
    }
    REQUIRE(0);
    return 0;
}

/* The group has failed: what there is of it can be used, and has no effect. */
static void check_dead(shmemx_group_t group)
{
    int n = shmemx_group_n_pes(group);
    CHECK(shmemx_group_state(group) == SHMEMX_GROUP_FAILED);
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        shmem_long_put(received, sent, LONG, pe);
        shmem_long_atomic_inc(&cell, pe);
        (void)shmem_long_g(&cell, pe);
        CHECK(is_far || shmem_ptr(&cell, pe) != NULL);
    }
    shmem_quiet();
    CHECK(shmemx_group_sync(group) == -1 && (is_far || shmem_team_sync(shmemx_group_team(group)) == -1));
    CHECK(shmemx_long_group_sum_reduce(group, sums, sent, LONG) == -1);
    if (!is_second && shmemx_group_parents() != group)
        CHECK(shmemx_kernel_call(group, "nothing", 1) == SHMEMX_REQUEST_INVALID);
    else if (!is_second) {
        long before = runs;
        CHECK(shmemx_kernel_serve() == -1 && runs == before, "%ld, not %ld", runs, before);
    }
    if (!shmem_my_pe())
        puts("failed");
}

/* This job is as before. */
static void check_world(void)
{
    sent[0] = 1;
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, sent, 1) == 0 && sums[0] == shmem_n_pes());
    shmem_barrier_all();
}

static int spawn(const char *program, const char *death, const char *wait, int n, shmemx_group_t *group)
{
    char *args[] = {(char *)death, (char *)wait, "child", NULL};
    shmemx_spawn_config_t config;
    config.argv = args;
    config.independent = 1;
    return shmemx_spawn(SHMEM_TEAM_WORLD, 0, program, n, &config, SHMEMX_SPAWN_ARGV | SHMEMX_SPAWN_INDEPENDENT, group);
}

static void child(const char *death, const char *wait)
{
    int last = shmem_my_pe() == shmem_n_pes() - 1;
    shmemx_group_t parents = shmemx_group_parents();
    look_at(parents);
    if (is(death, "survive")) {
        while (wait_by(wait, parents) == 0)
            ;
        check_dead(parents);
        check_world();
        CHECK(shmemx_group_disconnect(parents) == -1);
        return;
    }
    if (is(wait, "kernels") || is(wait, "kernel-tests") || is(wait, "queue")) {
        if (last && !is(death, "well")) {
            usleep(20000);
            end_by(death);
        }
        shmemx_kernel_serve();
        if (is(death, "leave"))
            exit(0);
        return;
    }
    for (int i = 0; i < 3 && !is(wait, "variable") && !is(wait, "disconnect") && !is(wait, "finalize"); i++)
        CHECK(wait_by(wait, parents) == 0 || is(death, "leave"));
    /* A PE that is still in the last of these waits would find the group failed. */
    shmem_sync_all();
    if (is(death, "well"))
        return;
    if (last)
        end_by(death);
    /* The others go on until they are ended. */
    if (is(wait, "disconnect") || is(wait, "finalize"))
        shmemx_group_disconnect(parents);
    else
        while (wait_by(wait, parents) == 0)
            ;
    /* Where one has left, nothing ends the others. */
    if (is(death, "leave"))
        exit(0);
    pause();
}

/* Ends a group of which a PE dies. */
static void outlive(const char *wait, shmemx_group_t group)
{
    if (is(wait, "disconnect") || is(wait, "finalize"))
        return;
    if (shmem_my_pe() == 1)
        usleep(30000);
    while (wait_by(wait, group) == 0)
        ;
    check_dead(group);
}

static void many(const char *program, int count)
{
    static const char *const deaths[] = {"crash", "kill", "fail", "leave", "end-all", "misuse", "early", "well"};
    static const char *const waits[] = {"sync", "alltoall-long", "team-reduce", "disconnect", "kernels"};
    struct kept mine = {0, 0, 0, 0}, launcher = mine;
    for (int i = 0; i < count; i++) {
        if (i == 40)
            mine = kept(getpid()), launcher = kept(getppid());
        const char *death = deaths[i % 8], *wait = waits[i % 5];
        shmemx_group_t group;
        int rc = spawn(program, death, wait, 1 + i % 3, &group);
        CHECK(is(death, "early") ? rc == -1 && group == SHMEMX_GROUP_INVALID : rc == 0);
        if (rc == 0) {
            if (!is(death, "well"))
                outlive(wait, group);
            else
                for (int k = 0; k < 3 && !is(wait, "disconnect"); k++)
                    CHECK(wait_by(wait, group) == 0);
            CHECK(shmemx_group_disconnect(group) == (is(death, "well") ? 0 : -1));
            CHECK(shmemx_group_state(group) == SHMEMX_GROUP_DISCONNECTED);
        }
    }
    not_more("PE", getpid(), mine);
    not_more("oshrun", getppid(), launcher);
}

/* Two jobs have met, of which one dies and the other one goes on, once the other one has met it, too. */
static void meet(const char *way, shmemx_group_t group, const char *port_file, const char *wait, const char *death)
{
    char met[1024];
    snprintf(met, sizeof met, "%s.met", port_file);
    is_second = is(way, "connect");
    look_at(group);
    if (is(death, "outlive")) {
        shmem_sync_all();
        if (shmem_my_pe() == 0)
            write_text(met, "met");
        outlive(wait, group);
        CHECK(shmemx_group_disconnect(group) == -1);
        CHECK(shmemx_group_state(group) == SHMEMX_GROUP_DISCONNECTED);
        check_world();
        return;
    }
    for (int i = 0; i < 3 && !is(wait, "variable") && !is(wait, "disconnect"); i++)
        CHECK(wait_by(wait, group) == 0);
    await_file(met);
    shmem_sync_all();
    if (shmem_my_pe() == shmem_n_pes() - 1)
        end_by(death);
    pause();
}

int main(int argc, char **argv)
{
    shmemx_group_t group;
    REQUIRE(argc >= 3);
    const char *way = argv[1];
    if (argc > 3 && is(way, "early"))
        return 3;
    if (argc > 3 && is(way, "never"))
        return 0;
    shmem_init();
    if (argc > 3 && is(argv[3], "child")) {
        child(way, argv[2]);
    } else if (is(way, "accept")) {
        if (shmem_my_pe() == 0)
            find_port(1, argv[2], port);
        CHECK(shmemx_port_accept_independent(SHMEM_TEAM_WORLD, 0, port, &group) == 0);
        meet(way, group, argv[2], argv[3], argc > 4 ? argv[4] : "outlive");
    } else if (is(way, "connect") || is(way, "mismatch")) {
        if (shmem_my_pe() == 0)
            read_text(argv[2], port);
        if (is(way, "mismatch"))
            CHECK(shmemx_port_connect(SHMEM_TEAM_WORLD, 0, port, &group) == -1);
        CHECK(shmemx_port_connect_independent(SHMEM_TEAM_WORLD, 0, port, &group) == 0);
        if (shmem_my_pe() == 0) {
            puts("connected");
            fflush(stdout);
        }
        if (argc > 4)
            meet(way, group, argv[2], argv[3], argv[4]);
        else
            while (wait_by(argv[3], group) == 0)
                ;
    } else if (is(way, "survive")) {
        CHECK(spawn(argv[0], way, argv[2], 2, &group) == 0);
        CHECK(is(argv[2], "variable") || wait_by(argv[2], group) == 0);
        if (shmem_my_pe() == 0)
            raise(SIGKILL);
        while (wait_by(argv[2], group) == 0)
            ;
        pause();
    } else if (is(way, "many")) {
        many(argv[0], atoi(argv[2]));
    } else {
        int rc = spawn(argv[0], way, argv[2], 3, &group);
        if (is(way, "early") || is(way, "never")) {
            CHECK(rc == -1 && group == SHMEMX_GROUP_INVALID);
            if (!shmem_my_pe())
                puts("failed");
        } else {
            CHECK(rc == 0);
            look_at(group);
            outlive(argv[2], group);
            if (!is(argv[2], "finalize"))
                CHECK(shmemx_group_disconnect(group) == -1);
        }
        check_world();
        if (!is(argv[2], "finalize")) {
            /* A group of PEs that live. */
            CHECK(spawn(argv[0], "well", "sync", 2, &group) == 0);
            for (int i = 0; i < 3; i++)
                CHECK(shmemx_group_sync(group) == 0 && shmemx_group_state(group) == SHMEMX_GROUP_CONNECTED);
            CHECK(shmemx_group_disconnect(group) == 0);
        }
    }
    return finish();
}
