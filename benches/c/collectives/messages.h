/* MPI. */
#include "implementation.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WORLD MPI_COMM_WORLD

static int *counts, *places; /* of MPI_Allgatherv */

static void barrier(size_t n) { (void)n; MPI_Barrier(WORLD); }
static void sum(size_t n) { MPI_Allreduce(source, dest, (int)n, MPI_DOUBLE, MPI_SUM, WORLD); }
static void scan(size_t n) { MPI_Scan(source, dest, (int)n, MPI_DOUBLE, MPI_SUM, WORLD); }

static void sum_in_place(size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, dest, (int)n, MPI_DOUBLE, MPI_SUM, WORLD);
}

static void broadcast(size_t n)
{
    MPI_Bcast(me == 0 ? source : dest, (int)n, MPI_DOUBLE, 0, WORLD);
}

static void gather(size_t n)
{
    MPI_Gather(source, (int)n, MPI_DOUBLE, dest, (int)n, MPI_DOUBLE, 0, WORLD);
}

static void scatter(size_t n)
{
    MPI_Scatter(source, (int)n, MPI_DOUBLE, dest, (int)n, MPI_DOUBLE, 0, WORLD);
}

static void reduce(size_t n) { MPI_Reduce(source, dest, (int)n, MPI_DOUBLE, MPI_SUM, 0, WORLD); }
static void reduce_scatter(size_t n)
{
    MPI_Reduce_scatter_block(source, dest, (int)n, MPI_DOUBLE, MPI_SUM, WORLD);
}

static void sum_nb(size_t n)
{
    MPI_Request request;
    MPI_Iallreduce(source, dest, (int)n, MPI_DOUBLE, MPI_SUM, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void broadcast_nb(size_t n)
{
    MPI_Request request;
    MPI_Ibcast(me == 0 ? source : dest, (int)n, MPI_DOUBLE, 0, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void fcollect_nb(size_t n)
{
    MPI_Request request;
    MPI_Iallgather(source, (int)n, MPI_DOUBLE, dest, (int)n, MPI_DOUBLE, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void alltoall_nb(size_t n)
{
    MPI_Request request;
    MPI_Ialltoall(source, (int)n, MPI_DOUBLE, dest, (int)n, MPI_DOUBLE, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void neighbor(size_t n)
{
    static MPI_Comm grid = MPI_COMM_NULL;
    if (grid == MPI_COMM_NULL) {
        const int dims[] = {sides < 4 ? pes : pes / 2, 2}, periods[] = {1, 1};
        MPI_Cart_create(WORLD, sides / 2, dims, periods, 0, &grid);
    }
    MPI_Neighbor_alltoall(source, (int)n, MPI_DOUBLE, dest, (int)n, MPI_DOUBLE, grid);
    compute(dest, n);
}

static void fcollect(size_t n)
{
    MPI_Allgather(source, (int)n, MPI_DOUBLE, dest, (int)n, MPI_DOUBLE, WORLD);
}

static void collect(size_t n)
{
    for (int pe = 0; pe < pes; pe++) {
        counts[pe] = (int)n;
        places[pe] = pe * (int)n;
    }
    MPI_Allgatherv(source, (int)n, MPI_DOUBLE, dest, counts, places, MPI_DOUBLE, WORLD);
}

static void alltoall(size_t n)
{
    MPI_Alltoall(source, (int)n, MPI_DOUBLE, dest, (int)n, MPI_DOUBLE, WORLD);
}

/* One-sided, to a window that the library allocates: there a put is a copy. */
static void put(size_t n)
{
    static MPI_Win window;
    static size_t room;
    if (room < n) {
        room = n;
        MPI_Win_allocate((MPI_Aint)(n * sizeof *dest), sizeof *dest, MPI_INFO_NULL, WORLD, &dest, &window);
        memset(dest, 0, n * sizeof *dest);
        MPI_Win_lock_all(0, window);
        MPI_Barrier(WORLD);
    }
    if (me == 0) {
        MPI_Put(source, (int)n, MPI_DOUBLE, 1, 0, (int)n, MPI_DOUBLE, window);
        MPI_Win_flush(1, window);
    }
}

/* A message says that it has arrived. */
static void put_signal(size_t n)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == me)
            MPI_Send(source, (int)n, MPI_DOUBLE, 1 - me, 0, WORLD);
        else
            MPI_Recv(dest, (int)n, MPI_DOUBLE, 1 - me, 0, WORLD, MPI_STATUS_IGNORE);
}

static void isx(size_t n)
{
    const int half = (int)(n / 2), peer = 1 - me;
    memcpy(dest, source, (size_t)half * sizeof *dest);
    MPI_Sendrecv(source + half, half, MPI_DOUBLE, peer, 0, dest + half, half, MPI_DOUBLE, peer, 0, WORLD,
                 MPI_STATUS_IGNORE);
}

/* Starts `n` processes, sends each a number, and waits for their end of the connection. */
static void spawn(size_t n)
{
    MPI_Comm children;
    MPI_Comm_spawn(program, MPI_ARGV_NULL, (int)n, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    for (int child = 0; child < (int)n; child++)
        MPI_Send(&child, 1, MPI_INT, child, 0, children);
    MPI_Comm_disconnect(&children);
}

static const struct operation operations[] = {
    OPERATIONS_OF_ALL,
    {"spawn", spawn, NOTHING, 0},
    TRANSFERS_OF_ALL,
    {"scan", scan, PREFIX_SUM, 0},
    ROOTED,
    {"nb/sum", sum_nb, SUM, 0},
    {"nb/broadcast", broadcast_nb, COPY_OF_ROOT, 0},
    {"nb/fcollect", fcollect_nb, ALL_SOURCES, 0},
    {"nb/alltoall", alltoall_nb, ALL_BLOCKS, 0},
    {"neighbor", neighbor, NEIGHBORS, 0},
    {NULL, NULL, NOTHING, 0},
};

static void begin(int *argc, char ***argv)
{
    MPI_Comm parent;
    MPI_Init(argc, argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        int number;
        MPI_Recv(&number, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        exit(0);
    }
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &pes);
    counts = calloc((size_t)pes, sizeof *counts);
    places = calloc((size_t)pes, sizeof *places);
}

/* On huge pages: messages of 256 KiB and more are 20% faster. */
static void *memory(size_t bytes)
{
    const size_t huge = 2 << 20;
    void *const place = aligned_alloc(huge, (bytes + huge - 1) / huge * huge);
    if (place)
        madvise(place, bytes, MADV_HUGEPAGE);
    return place;
}

static void end(void) { MPI_Finalize(); }
