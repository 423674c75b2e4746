/* PEs fail at any point of what all do: argv[1] says what, the others say which PEs fail. Those that are left notice
 * it, agree on who is gone, and go on in a team of their own. */
#define _GNU_SOURCE
#include "../check.h"

#include <shmemx.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { LONG = 4096 };

static long source[LONG], dest[64 * LONG], counter, lock_word;
static long active_sync[SHMEM_SYNC_SIZE], broadcast_sync[SHMEM_BCAST_SYNC_SIZE];
static int me, n;
static uint64_t *failures;
static shmemx_stream_t stream;
static shmemx_graph_t graph;
static shmemx_req_h persistent;

/* Each returns whether a failure ended it, or does not know. */
static int barrier(shmem_team_t team) { (void)team; shmem_barrier_all(); return 0; }
static int sync_all(shmem_team_t team) { (void)team; shmem_sync_all(); return 0; }
static int team_sync(shmem_team_t team) { return shmem_team_sync(team); }
static int broadcast(shmem_team_t team) { return shmem_long_broadcast(team, dest, source, 1, 0); }
static int long_broadcast(shmem_team_t team) { return shmem_long_broadcast(team, dest, source, LONG, 0); }
static int collect(shmem_team_t team) { return shmem_long_collect(team, dest, source, 1 + me % 2); }
static int fcollect(shmem_team_t team) { return shmem_long_fcollect(team, dest, source, 1); }
static int long_fcollect(shmem_team_t team) { return shmem_long_fcollect(team, dest, source, LONG); }
static int alltoall(shmem_team_t team) { return shmem_long_alltoall(team, dest, source, 1); }
static int alltoalls(shmem_team_t team) { return shmem_long_alltoalls(team, dest, source, 2, 2, 1); }
static int reduce(shmem_team_t team) { return shmem_long_sum_reduce(team, dest, source, 1); }
static int long_reduce(shmem_team_t team) { return shmem_long_sum_reduce(team, dest, source, LONG); }
static int scan(shmem_team_t team) { return shmem_long_sum_inscan(team, dest, source, 1); }
static int gather(shmem_team_t team) { return shmemx_gathermem(team, dest, source, 8, 0); }
static int agree(shmem_team_t team) { int one = 1; return shmemx_team_agree(team, &one); }
static int mallocs(shmem_team_t team) { (void)team; shmem_free(shmem_malloc(64)); return 0; }

static int shrink(shmem_team_t team)
{
    shmem_team_t other = SHMEM_TEAM_INVALID;
    int is_failed = shmemx_team_shrink(team, &other) != 0 || shmem_team_n_pes(other) < n;
    shmem_team_destroy(other);
    return is_failed;
}

static int split(shmem_team_t team)
{
    shmem_team_t other = SHMEM_TEAM_INVALID;
    int is_failed = shmem_team_split_strided(team, 0, 1, n, NULL, 0, &other) != 0;
    shmem_team_destroy(other);
    return is_failed;
}

static int begun(int is_invalid, shmemx_req_h request)
{
    return is_invalid || shmemx_req_wait(&request) != 0;
}

static int nonblocking(shmem_team_t team)
{
    shmemx_req_h request;
    int is_invalid = shmemx_sum_reduce_nb(team, dest, source, LONG, &request);
    return begun(is_invalid, request);
}

static int tested(shmem_team_t team)
{
    shmemx_req_h request;
    int result;
    if (shmemx_fcollect_nb(team, dest, source, 1, &request) != 0)
        return 1;
    while ((result = shmemx_req_test(&request)) > 0)
        ;
    return result;
}

static int restarted(shmem_team_t team)
{
    (void)team;
    shmemx_req_start(&persistent);
    return shmemx_req_wait(&persistent);
}

static int messages(shmem_team_t team)
{
    int right = (me + 1) % n, left = (me + n - 1) % n;
    return shmemx_msg_send(team, source, 8, right, 1) != 0
           || shmemx_msg_recv(team, dest, 8, left, 1, NULL) != 0;
}

static int long_messages(shmem_team_t team)
{
    shmemx_msg_request_t requests[2];
    shmemx_msg_isend(team, source, sizeof source, (me + 1) % n, 1, &requests[0]);
    shmemx_msg_irecv(team, dest, sizeof source, SHMEMX_ANY_SOURCE, 1, &requests[1]);
    return shmemx_msg_waitall(2, requests, NULL);
}

/* Into an inbox that is full most of the time: so a PE fails while it writes there. */
static int full(shmem_team_t team)
{
    int rank = shmem_team_my_pe(team), status = 0;
    for (int i = 0; i < 64 && status == 0; i++)
        for (int from = 1; from < shmem_team_n_pes(team) && status == 0; from++)
            if (rank == 0)
                status = shmemx_msg_recv(team, dest, 8000, SHMEMX_ANY_SOURCE, 1, NULL);
            else if (rank == from)
                status = shmemx_msg_send(team, source, 8000, 0, 1);
    return status;
}

static int streams(shmem_team_t team)
{
    (void)team;
    long item;
    for (int i = 0; i < 100; i++)
        while (!shmemx_stream_push(stream, &item, (me + i) % n))
            while (shmemx_stream_pull(stream, &item, NULL))
                ;
    while (shmemx_stream_pull(stream, &item, NULL))
        ;
    return 0;
}

static int stream_end(shmem_team_t team)
{
    long item;
    if (streams(team) != 0)
        return 1;
    shmemx_stream_end(stream);
    while (shmemx_stream_wait(stream))
        while (shmemx_stream_pull(stream, &item, NULL))
            ;
    shmemx_stream_reset(stream);
    return 0;
}

static int neighbors(shmem_team_t team)
{
    (void)team;
    shmemx_req_start(&persistent);
    return shmemx_req_wait(&persistent);
}

static int active(shmem_team_t team)
{
    (void)team;
    shmem_barrier(0, 0, n, active_sync);
    return 0;
}

static int active_broadcast(shmem_team_t team)
{
    (void)team;
    shmem_broadcast64(dest, source, 1, 0, 0, 0, n, broadcast_sync);
    return 0;
}

static int variable(shmem_team_t team)
{
    (void)team;
    shmem_uint64_wait_until(failures, SHMEM_CMP_GE, 1);
    return 1;
}

/* Those of a row in which no PE fails wait for each other, until one notices the failure. */
static int revoked(shmem_team_t row)
{
    return shmem_team_sync(row);
}

/* One that fails holds the lock at times, or waits for it. */
static int locks(shmem_team_t team)
{
    (void)team;
    static long guarded[2];
    shmem_set_lock(&lock_word);
    long seen = shmem_long_g(&guarded[0], 0);
    shmem_long_p(&guarded[0], seen + 1, 0);
    shmem_quiet();
    shmem_clear_lock(&lock_word);
    while (shmem_test_lock(&lock_word) != 0)
        ;
    shmem_clear_lock(&lock_word);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(shmem_team_t);
} kinds[] = {
    {"barrier", barrier}, {"sync-all", sync_all}, {"team-sync", team_sync}, {"broadcast", broadcast},
    {"broadcast-long", long_broadcast}, {"collect", collect}, {"fcollect", fcollect},
    {"fcollect-long", long_fcollect}, {"alltoall", alltoall}, {"alltoalls", alltoalls}, {"reduce", reduce},
    {"reduce-long", long_reduce}, {"scan", scan}, {"gather", gather}, {"agree", agree}, {"malloc", mallocs},
    {"shrink", shrink}, {"split", split}, {"nonblocking", nonblocking}, {"test", tested},
    {"persistent", restarted}, {"messages", messages}, {"messages-long", long_messages}, {"messages-full", full},
    {"streams", streams}, {"stream-end", stream_end}, {"neighbors", neighbors}, {"active", active},
    {"active-broadcast", active_broadcast}, {"variable", variable}, {"locks", locks}, {"revoked", revoked},
};

static int (*find(const char *name))(shmem_team_t)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].run;
    fprintf(stderr, "not so: no kind %s\n", name);
    shmem_global_exit(1);
    return NULL;
}

/* What the PEs that are left can do in their team. */
static void check_team(shmem_team_t team, int size)
{
    static long mine, all[64], sum;
    int rank = shmem_team_my_pe(team);
    mine = me;
    for (int i = 0; i < 3; i++) {
        CHECK(shmem_team_sync(team) == 0);
        CHECK(shmem_long_fcollect(team, all, &mine, 1) == 0);
        long right = 0;
        for (int pe = 0; pe < size; pe++) {
            CHECK(all[pe] == shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD), "PE %d: %ld", pe, all[pe]);
            right += all[pe];
        }
        CHECK(shmem_long_sum_reduce(team, &sum, &mine, 1) == 0 && sum == right, "%ld, not %ld", sum, right);
    }
    shmemx_req_h request;
    CHECK(shmemx_sync_nb(team, &request) == 0 && shmemx_req_wait(&request) == 0);
    shmem_team_t half;
    CHECK(shmemx_team_split_color(team, rank % 2, 0, NULL, 0, &half) == 0);
    CHECK(shmem_team_sync(half) == 0 && shmem_team_n_pes(half) == (size + 1 - rank % 2) / 2);
    shmem_team_destroy(half);
    long from = -1;
    CHECK(shmemx_msg_send(team, &mine, 8, (rank + 1) % size, 5) == 0);
    CHECK(shmemx_msg_recv(team, &from, 8, (rank + size - 1) % size, 5, NULL) == 0);
    CHECK(from == shmem_team_translate_pe(team, (rank + size - 1) % size, SHMEM_TEAM_WORLD));
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    REQUIRE(argc > 2 && n <= 64);
    int (*run)(shmem_team_t) = find(argv[1]);
    REQUIRE(shmemx_resilient() == 0);
    failures = shmemx_failures();
    CHECK(shmemx_team_failed(SHMEM_TEAM_WORLD, NULL, 0) == 0);
    if (run == streams || run == stream_end)
        REQUIRE(shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(long), 0, &stream) == 0);
    if (run == restarted)
        REQUIRE(shmemx_sum_reduce_init(SHMEM_TEAM_WORLD, dest, source, 1, &persistent) == 0);
    if (run == neighbors) {
        int both = 1;
        REQUIRE(shmemx_cart_create(SHMEM_TEAM_WORLD, 1, &n, &both, &graph) == 0);
        REQUIRE(shmemx_neighbor_alltoallmem_init(graph, dest, source, 64, &persistent) == 0);
    }
    shmem_team_t row = SHMEM_TEAM_INVALID;
    if (run == revoked)
        REQUIRE(shmemx_team_split_color(SHMEM_TEAM_WORLD, me % 2, 0, NULL, 0, &row) == 0);
    /* Those of a host that is cut off do not end by themselves. */
    const int is_cut = strcmp(argv[2], "cut") == 0, first = 2 + is_cut;
    int victims = 0;
    shmem_barrier_all();
    if (is_cut && me == 0) {
        printf("all are at it\n");
        fflush(stdout);
    }
    for (int i = first; i < argc; i++) {
        victims++;
        if (is_cut || me != atoi(argv[i]))
            continue;
        /* At any point of the rounds below. */
        struct itimerval soon = {{0, 0}, {0, 1 + (getpid() * 7919L + i) % 20000}};
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    /* What is the same on all PEs that are left says alone when to leave the loop; else any may be the first. */
    const int is_agreed = run == agree || run == shrink;
    while (run(run == revoked ? row : SHMEM_TEAM_WORLD) == 0)
        if (!is_agreed && __atomic_load_n(failures, __ATOMIC_ACQUIRE) != 0)
            break;
    if (run == revoked)
        CHECK(shmemx_team_revoke(row) == 0 && shmem_team_sync(row) != 0);
    int failed = 0;
    while (failed < victims) {
        int ok = ~(1 << me % 31);
        failed = shmemx_team_agree(SHMEM_TEAM_WORLD, &ok);
        for (int i = first; i < argc; i++)
            if (me == atoi(argv[i]))
                for (;;)
                    shmemx_team_agree(SHMEM_TEAM_WORLD, &ok);
    }
    CHECK(failed == victims && *failures == (uint64_t)victims);
    /* The values of all that are left. */
    int value = me == n - 1 || (victims > 0 && me == n - 2) ? ~4 : ~0;
    int agreed = value;
    CHECK(shmemx_team_agree(SHMEM_TEAM_WORLD, &agreed) == victims && (agreed == ~4 || agreed == ~0));
    if (value != ~0)
        CHECK(agreed == ~4);
    int pes[64];
    CHECK(shmemx_team_failed(SHMEM_TEAM_WORLD, pes, 64) == victims);
    for (int i = 0; i < victims; i++)
        CHECK(shmemx_pe_state(pes[i]) == SHMEMX_PE_FAILED);
    CHECK(shmemx_pe_state(me) == SHMEMX_PE_ALIVE);
    CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) != 0);
    shmem_team_t left;
    REQUIRE(shmemx_team_shrink(SHMEM_TEAM_WORLD, &left) == 0);
    CHECK(shmem_team_n_pes(left) == n - victims);
    check_team(left, n - victims);
    /* The memory of the others of this node is there. */
    int here = 0;
    for (int pe = 0; pe < n; pe++)
        here += shmem_ptr(&counter, pe) != NULL && shmemx_pe_state(pe) == SHMEMX_PE_ALIVE;
    for (int i = first; i < argc; i++)
        if (shmem_ptr(&counter, atoi(argv[i])) != NULL) {
            long was = shmem_long_atomic_fetch_add(&counter, 1, atoi(argv[i]));
            CHECK(was >= 0 && was < here);
        }
    CHECK(shmem_team_sync(left) == 0);
    for (int i = first; i < argc; i++)
        CHECK(shmem_ptr(&counter, atoi(argv[i])) == NULL || shmem_long_g(&counter, atoi(argv[i])) == here);
    /* Those that are lost take nothing of it any more. */
    if (run == streams || run == stream_end)
        shmemx_stream_destroy(stream);
    /* Once more, of a team that has not failed. */
    shmem_team_t again;
    REQUIRE(shmemx_team_shrink(left, &again) == 0);
    check_team(again, n - victims);
    shmem_team_destroy(again);
    shmem_team_destroy(left);
    printf("PE %d is left\n", me);
    return finish();
}
