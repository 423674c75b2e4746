/* What a resilient job costs while no PE fails: each series may be ordered before the series `become` and after it.
 * `resilience COUNT NAME` does one of them COUNT times, to have its instructions counted; with RESILIENT=1 in a job
 * that is resilient. */
#include <shmemx.h>

#include "rounds.h"

enum { MOST = 4096, LINE = 128 };

/* Each in cache lines of its own. */
static struct places {
    _Alignas(LINE) long lock;
    _Alignas(LINE) uint64_t sig;
    _Alignas(LINE) char source[64 << 10];
    _Alignas(LINE) char dest[64 << 10];
} *places;

static shmem_team_t team; /* of all PEs */
static uint64_t signals;
static int me, n, peer; /* peers are pairs; one of an odd number is its own */

static size_t longs(void)
{
    return series->bytes / sizeof(long);
}

/* A function that makes a call so many times. */
#define REPEATED(name, call)             \
    static void name(long count)         \
    {                                    \
        for (long i = 0; i < count; i++) \
            call;                        \
    }
#define MOVED (long *)places->dest, (long *)places->source, longs()

REPEATED(barrier_all, shmem_barrier_all())
REPEATED(team_sync, shmem_team_sync(team))
REPEATED(sum, shmem_long_sum_reduce(team, MOVED))
REPEATED(broadcast, shmem_long_broadcast(team, MOVED, 0))
REPEATED(alltoall, shmem_long_alltoall(team, MOVED))
REPEATED(fcollect, shmem_long_fcollect(team, MOVED))

static void sum_nb(long count)
{
    for (long i = 0; i < count; i++) {
        shmemx_req_h request;
        shmemx_reduce_nb(team, places->dest, places->source, longs(), SHMEMX_SIGNED + sizeof(long), SHMEMX_SUM,
                         &request);
        shmemx_req_wait(&request);
    }
}

static void send(void)
{
    shmemx_msg_send(SHMEM_TEAM_WORLD, places->source, series->bytes, peer, 1);
}

static void receive(void)
{
    shmemx_msg_recv(SHMEM_TEAM_WORLD, places->dest, series->bytes, peer, 1, NULL);
}

/* There and back. */
static void messages(long count)
{
    for (long i = 0; i < count; i++) {
        if (me <= peer)
            send();
        receive();
        if (me > peer)
            send();
    }
}

static void signal_peer(void)
{
    shmem_putmem_signal(places->dest, places->source, series->bytes, &places->sig, signals, SHMEM_SIGNAL_SET, peer);
}

static void put_signal(long count)
{
    for (long i = 0; i < count; i++) {
        signals++;
        if (me <= peer)
            signal_peer();
        shmem_signal_wait_until(&places->sig, SHMEM_CMP_EQ, signals);
        if (me > peer)
            signal_peer();
    }
}

static void locks(long count)
{
    for (long i = 0; i < count; i++) {
        shmem_set_lock(&places->lock);
        shmem_clear_lock(&places->lock);
    }
}

static void become(long count)
{
    (void)count;
    if (shmemx_resilient() != 0)
        shmem_global_exit(1);
}

/* Both times of a round are those of the same. */
#define SERIES(name, work, count, together, bytes) {name, work, work, count, together, bytes}

static const struct series all[] = {
    SERIES("become", become, 1, 1, 0),
    SERIES("barrier_all", barrier_all, 1000, 1, 0),
    SERIES("team_sync", team_sync, 1000, 1, 0),
    SERIES("sum/8B", sum, 1000, 1, 8),
    SERIES("sum/64KiB", sum, 20, 1, 64 << 10),
    SERIES("broadcast/8B", broadcast, 1000, 1, 8),
    SERIES("alltoall/8B", alltoall, 1000, 1, 8),
    SERIES("fcollect/8B", fcollect, 1000, 1, 8),
    SERIES("sum_nb/8B", sum_nb, 1000, 1, 8),
    SERIES("message/8B", messages, 1000, 1, 8),
    SERIES("message/4KiB", messages, 1000, 1, 4 << 10),
    SERIES("put_signal/8B", put_signal, 1000, 1, 8),
    SERIES("lock/free", locks, 8000, 0, 0),
    SERIES("lock/wanted", locks, 1000, 1, 0),
};

enum { SERIES_N = sizeof all / sizeof *all, CROWDED = 50 /* times as long, where PEs outnumber cores */ };

static void count_one(const char *name, long count)
{
    for (int i = 0; i < SERIES_N; i++)
        if (strcmp(all[i].name, name) == 0) {
            series = &all[i];
            series->ours(count);
        }
}

int main(int argc, char *argv[])
{
    shmem_init();
    const char *resilient = getenv("RESILIENT");
    if (resilient && resilient[0] == '1')
        become(1);
    me = shmem_my_pe();
    n = shmem_n_pes();
    peer = (me ^ 1) < n ? me ^ 1 : me;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    places = shmem_calloc(1, sizeof *places);
    shmem_barrier_all();
    if (argc == 3) {
        count_one(argv[2], strtol(argv[1], NULL, 10));
    } else {
        struct series fewer[SERIES_N];
        for (int i = 0; i < SERIES_N; i++) {
            fewer[i] = all[i];
            if (n > 2)
                fewer[i].count = (fewer[i].count + CROWDED - 1) / CROWDED;
        }
        serve(fewer, SERIES_N);
    }
    shmem_finalize();
    return 0;
}
