/* Two jobs that connect: the first argument says which one this is and what it does, the second names a file for the
 * text of the port. */
#include "../near_stack.h"
#include "kept.h"
#include "port.h"
#include "way.h"

#include <signal.h>

static long cell, sum, total;

/* Each group adds to the other's memory, and both sum up. */
static void use(shmemx_group_t group)
{
    int others = shmemx_group_n_pes(group);
    REQUIRE(others > 0);
    cell = sum = 0;
    shmemx_group_barrier(group);
    for (int i = 0; i < others; i++)
        shmem_long_atomic_add(&sum, 1 + shmem_my_pe(), shmemx_group_pe(group, i));
    shmemx_group_barrier(group);
    cell = 1;
    REQUIRE(shmemx_long_group_sum_reduce(group, &total, &cell, 1) == 0);
    CHECK(total == others, "%ld", total);
    CHECK(sum >= others, "%ld", sum);
}

static void make(int accepts, const char *port, shmemx_group_t *group)
{
    meet_at(accepts, port, 0, group);
    CHECK(!near_the_stack());
}

/* Connects and disconnects many times, at the end of which this process and its supervisor have what they had at the
 * beginning. */
static void rounds(int accepts, const char *port, int n)
{
    int supervisor_files = 0;
    struct kept mine = {0, 0, 0, 0};
    for (int i = 0; i < n; i++) {
        shmemx_group_t group;
        make(accepts, port, &group);
        if (i % 50 == 0)
            use(group);
        shmemx_group_disconnect(group);
        if (i == 20) {
            mine = kept(getpid());
            supervisor_files = entries(getppid(), "fd");
        }
    }
    /* It has three for each connection, and may not have seen the end of the last ones. */
    int supervisor_now = entries(getppid(), "fd");
    CHECK(supervisor_now <= supervisor_files + 9, "%d, %d", supervisor_files, supervisor_now);
    struct kept now = kept(getpid());
    /* The last message of a connection may be there still. */
    CHECK(now.files <= mine.files + 1, "%d, %d", mine.files, now.files);
    CHECK(now.mappings <= mine.mappings + 4, "%d, %d", mine.mappings, now.mappings);
}

/* Every other PE of the job, but for one that is late. */
static void part(int accepts, const char *port)
{
    shmem_team_t team;
    int half = (shmem_n_pes() + 1) / 2;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, half, NULL, 0, &team);
    if (team != SHMEM_TEAM_INVALID) {
        shmemx_group_t group;
        if (shmem_team_my_pe(team) == half - 1)
            sleep(1);
        int status = accepts ? shmemx_port_accept(team, 0, port, &group)
                             : shmemx_port_connect(team, 0, port, &group);
        REQUIRE(status == 0);
        CHECK(shmemx_group_n_pes(group) == half, "%d", shmemx_group_n_pes(group));
        use(group);
        shmemx_group_disconnect(group);
    }
    shmem_barrier_all();
}

/* Two teams of one job meet. */
static void self(char *port)
{
    static char text[SHMEMX_MAX_PORT_NAME];
    int n = shmem_n_pes(), first = n / 2, is_first = shmem_my_pe() < first;
    shmem_team_t low, high;
    shmemx_group_t group;
    if (shmem_my_pe() == 0)
        REQUIRE(shmemx_port_open(text) == 0);
    shmem_broadcastmem(SHMEM_TEAM_WORLD, port, text, sizeof text, 0);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, first, NULL, 0, &low);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, first, 1, n - first, NULL, 0, &high);
    int status = is_first ? shmemx_port_accept(low, 0, text, &group)
                          : shmemx_port_connect(high, 0, port, &group);
    REQUIRE(status == 0);
    use(group);
    shmemx_group_disconnect(group);
}

/* Two connections of the same jobs at once. */
static void twice(int accepts, const char *port)
{
    shmemx_group_t one, two;
    make(accepts, port, &one);
    make(accepts, port, &two);
    CHECK(shmemx_group_pe(one, 0) != shmemx_group_pe(two, 0));
    use(one);
    use(two);
    use(one);
    shmemx_group_disconnect(one);
    use(two);
    if (shmem_my_pe() == 0)
        shmem_long_atomic_set(&cell, 5, shmemx_group_pe(two, 0));
}

static void fail(shmemx_group_t group)
{
    if (is("accept-crash") && shmem_my_pe() == shmem_n_pes() - 1)
        raise(SIGSEGV);
    if (is("accept-exit-3") && shmem_my_pe() == shmem_n_pes() - 1)
        _exit(3);
    if (is("accept-leave"))
        _exit(0);
    if (is("accept-global-exit"))
        shmem_global_exit(9);
    if (is("accept-misuse"))
        shmem_long_p(&cell, 1, 1234567);
    /* The other group computes. */
    for (;;)
        pause();
    (void)group;
}

int main(int argc, char **argv)
{
    static char text[SHMEMX_MAX_PORT_NAME];
    char *port = text;
    shmemx_group_t group;
    way = argv[1];
    shmem_init();
    int accepts = strncmp(way, "accept", 6) == 0;
    /* All that connect read the text. */
    if (accepts ? shmem_my_pe() == 0 : !is("self") && !is("connect-to"))
        find_port(accepts, argv[2], port);
    if (is("connect-to")) {
        /* The text is the second argument; the line on standard error says why that is none. */
        group = (shmemx_group_t)argv;
        int status = shmemx_port_connect(SHMEM_TEAM_WORLD, 0, argv[2], &group);
        REQUIRE(status == -1 && group == SHMEMX_GROUP_INVALID);
        puts("refused");
    } else if (is("accept-rounds") || is("connect-rounds")) {
        rounds(accepts, port, atoi(argv[3]));
    } else if (is("accept-many")) {
        /* So many jobs connect, all of which are connected at once. */
        shmemx_group_t all[64];
        int n = atoi(argv[3]);
        for (int i = 0; i < n; i++)
            make(1, port, &all[i]);
        for (int i = n; i-- > 0;)
            use(all[i]);
    } else if (is("accept-part") || is("connect-part")) {
        part(accepts, port);
    } else if (is("accept-twice") || is("connect-twice")) {
        twice(accepts, port);
    } else if (is("self")) {
        static char there[SHMEMX_MAX_PORT_NAME];
        self(there);
    } else if (is("accept-close")) {
        /* Who has connected is not accepted any more. */
        await_file(argv[3]);
        usleep(100000);
        REQUIRE(shmemx_port_close(port) == 0);
        CHECK(shmemx_port_accept(SHMEM_TEAM_WORLD, 0, port, &group) == -1);
        CHECK(shmemx_port_close(port) == -1);
    } else if (is("accept-never")) {
        for (;;)
            pause();
    } else if (is("connect-refused")) {
        puts("connecting");
        fflush(stdout);
        CHECK(shmemx_port_connect(SHMEM_TEAM_WORLD, 0, port, &group) == -1);
    } else {
        if (is("accept-late") || is("connect-late"))
            sleep(1);
        make(accepts, port, &group);
        use(group);
        if (strncmp(way, "accept-", 7) == 0 && !is("accept-late"))
            fail(group);
        if (is("connect-crash"))
            raise(SIGSEGV);
        if (is("connect-tell")) {
            puts("connected");
            fflush(stdout);
        }
        if (is("connect-wait") || is("connect-tell"))
            for (;;)
                pause();
        if (is("connect-disconnect"))
            shmemx_group_disconnect(group);
    }
    if (is("accept-rounds") && shmem_my_pe() == 0)
        REQUIRE(shmemx_port_close(port) == 0);
    (void)argc;
    return finish();
}
