/* OpenSHMEM 1.6: collectives over teams. */
#include "implementation.h"
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#define WORLD SHMEM_TEAM_WORLD

static long sync_words[2][SHMEM_REDUCE_SYNC_SIZE];
static double work[2][LARGEST / sizeof(double) / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void barrier(size_t n) { (void)n; shmem_barrier_all(); }
static void sum(size_t n) { shmem_double_sum_reduce(WORLD, dest, source, n); }
static void sum_in_place(size_t n) { shmem_double_sum_reduce(WORLD, dest, dest, n); }
static void broadcast(size_t n) { shmem_double_broadcast(WORLD, dest, source, n, 0); }
static void fcollect(size_t n) { shmem_double_fcollect(WORLD, dest, source, n); }
static void collect(size_t n) { shmem_double_collect(WORLD, dest, source, n); }
static void alltoall(size_t n) { shmem_double_alltoall(WORLD, dest, source, n); }
static void scan(size_t n) { shmem_double_sum_inscan(WORLD, dest, source, n); }

static void gather(size_t n) { shmemx_gather(WORLD, dest, source, n, 0); }
static void scatter(size_t n) { shmemx_scatter(WORLD, dest, source, n, 0); }
static void reduce(size_t n) { shmemx_reduce_root(WORLD, dest, source, n, SHMEMX_DATATYPE(source), SHMEMX_SUM, 0); }
static void reduce_scatter(size_t n)
{
    shmemx_reduce_scatter(WORLD, dest, source, n, SHMEMX_DATATYPE(source), SHMEMX_SUM);
}

static void sum_nb(size_t n)
{
    shmemx_req_h request;
    shmemx_sum_reduce_nb(WORLD, dest, source, n, &request);
    shmemx_req_wait(&request);
}

static void broadcast_nb(size_t n)
{
    shmemx_req_h request;
    shmemx_broadcast_nb(WORLD, dest, source, n, 0, &request);
    shmemx_req_wait(&request);
}

static void fcollect_nb(size_t n)
{
    shmemx_req_h request;
    shmemx_fcollect_nb(WORLD, dest, source, n, &request);
    shmemx_req_wait(&request);
}

static void alltoall_nb(size_t n)
{
    shmemx_req_h request;
    shmemx_alltoall_nb(WORLD, dest, source, n, &request);
    shmemx_req_wait(&request);
}

/* By a request that is made once for a length. */
#define STARTED(name, ...)                               \
    static void name##_start(size_t n)                   \
    {                                                    \
        static shmemx_req_h request;                     \
        static size_t made_for;                          \
        if (made_for != n) {                             \
            if (made_for != 0)                           \
                shmemx_req_free(&request);               \
            shmemx_##name##_init(__VA_ARGS__, &request); \
            made_for = n;                                \
        }                                                \
        shmemx_req_start(&request);                      \
        shmemx_req_wait(&request);                       \
    }
STARTED(sum_reduce, WORLD, dest, source, n)
STARTED(broadcast, WORLD, dest, source, n, 0)
STARTED(fcollect, WORLD, dest, source, n)
STARTED(alltoall, WORLD, dest, source, n)

static void neighbor(size_t n)
{
    static shmemx_graph_t grid;
    static shmemx_req_h request;
    static size_t made_for;
    if (made_for != n) {
        const int dims[] = {sides < 4 ? pes : pes / 2, 2}, periods[] = {1, 1};
        if (made_for == 0)
            shmemx_cart_create(WORLD, sides / 2, dims, periods, &grid);
        else
            shmemx_req_free(&request);
        shmemx_neighbor_alltoall_init(grid, dest, source, n, &request);
        made_for = n;
    }
    shmemx_req_start(&request);
    shmemx_req_wait(&request);
    compute(dest, n);
}

/* The same by hand: puts with signals, to one of two buffers by turns, since a neighbour may be a round ahead. */
static void neighbor_by_hand(size_t n)
{
    static double *halo;
    static size_t room;
    static uint64_t arrived[4], round;
    if (room < n) {
        shmem_free(halo);
        halo = shmem_align(4096, 8 * n * sizeof *halo);
        room = n;
    }
    round++;
    for (int side = 0; side < sides; side++) {
        double *const to = halo + ((round & 1) * 4 + (size_t)(side ^ 1)) * n;
        shmem_double_put_signal(to, source + (size_t)side * n, n, &arrived[side ^ 1], round, SHMEM_SIGNAL_SET,
                                around[side]);
    }
    shmem_uint64_wait_until_all(arrived, (size_t)sides, NULL, SHMEM_CMP_GE, round);
    compute(halo + (round & 1) * 4 * n, n);
}

static void sum_to_all(size_t n)
{
    static int turn;
    turn ^= 1;
    shmem_double_sum_to_all(dest, source, (int)n, 0, 0, pes, work[turn], sync_words[turn]);
}

static uint64_t sig;

static void put(size_t n)
{
    if (me == 0)
        shmem_double_put(dest, source, n, 1);
}

static void put_signal(size_t n)
{
    static uint64_t messages;
    for (int turn = 0; turn < 2; turn++) {
        messages++;
        if (turn == me)
            shmem_double_put_signal(dest, source, n, &sig, messages, SHMEM_SIGNAL_SET, 1 - me);
        else
            shmem_signal_wait_until(&sig, SHMEM_CMP_GE, messages);
    }
}

#include "isx.h"

static long begun;

/* Starts `n` PEs, puts to each, and waits for their end of the connection. */
static void spawn(size_t n)
{
    shmemx_group_t children;
    if (shmemx_spawn(WORLD, 0, program, (int)n, NULL, 0, &children) != 0)
        shmem_global_exit(1);
    for (int child = 0; child < (int)n; child++)
        shmem_long_p(&begun, 1, shmemx_group_pe(children, child));
    shmemx_group_disconnect(children);
}

static const struct operation operations[] = {
    OPERATIONS_OF_ALL,
    {"spawn", spawn, NOTHING, 0},
    TRANSFERS_OF_ALL,
    {"sum_to_all", sum_to_all, SUM, 0},
    {"scan", scan, PREFIX_SUM, 0},
    ROOTED,
    {"nb/sum", sum_nb, SUM, 0},
    {"nb/broadcast", broadcast_nb, COPY_OF_ROOT, 0},
    {"nb/fcollect", fcollect_nb, ALL_SOURCES, 0},
    {"nb/alltoall", alltoall_nb, ALL_BLOCKS, 0},
    {"start/sum", sum_reduce_start, SUM, 0},
    {"start/broadcast", broadcast_start, COPY_OF_ROOT, 0},
    {"start/fcollect", fcollect_start, ALL_SOURCES, 0},
    {"start/alltoall", alltoall_start, ALL_BLOCKS, 0},
    {"neighbor", neighbor, NEIGHBORS, 0},
    {"neighbor/by-hand", neighbor_by_hand, NOTHING, 0},
    {NULL, NULL, NOTHING, 0},
};

static void begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    shmem_init();
    if (shmemx_group_parents() != SHMEMX_GROUP_INVALID) {
        shmem_long_wait_until(&begun, SHMEM_CMP_EQ, 1);
        shmem_finalize();
        exit(0);
    }
    me = shmem_my_pe();
    pes = shmem_n_pes();
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
            sync_words[turn][i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
}

static void *memory(size_t bytes) { return shmem_align(4096, bytes); }
static void end(void) { shmem_finalize(); }
