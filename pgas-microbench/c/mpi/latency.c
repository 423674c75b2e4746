/* Latency between the PEs of pairs with MPI: one-sided in passive target mode, each operation
 * followed by a flush, and a message of the two-sided kind, half the way there and back. */
#include "../pair_data.h"
#include "../program.h"
#include "job_mpi.h"
#include "strided.h"

static void put(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Win window = job_window_at(t.dest);
    int count = (int)t.bytes;
    for (long r = 0; r < repetitions; r++) {
        MPI_Put(t.source, count, MPI_BYTE, t.peer, 0, count, MPI_BYTE, window);
        MPI_Win_flush(t.peer, window);
    }
}

static void get(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Win window = job_window_at(t.source);
    int count = (int)t.bytes;
    for (long r = 0; r < repetitions; r++) {
        MPI_Get(t.dest, count, MPI_BYTE, t.peer, 0, count, MPI_BYTE, window);
        MPI_Win_flush(t.peer, window);
    }
}

static void iput(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Win window = job_window_at(t.dest);
    MPI_Datatype apart = longs_apart(t.bytes);
    int count = (int)(t.bytes / sizeof(long));
    for (long r = 0; r < repetitions; r++) {
        MPI_Put(t.source, count, MPI_LONG, t.peer, 0, 1, apart, window);
        MPI_Win_flush(t.peer, window);
    }
    MPI_Type_free(&apart);
}

static void iget(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Win window = job_window_at(t.source);
    MPI_Datatype apart = longs_apart(t.bytes);
    int count = (int)(t.bytes / sizeof(long));
    for (long r = 0; r < repetitions; r++) {
        MPI_Get(t.dest, count, MPI_LONG, t.peer, 0, 1, apart, window);
        MPI_Win_flush(t.peer, window);
    }
    MPI_Type_free(&apart);
}

/* A repetition is one message: the first goes from origin to peer, the next one back. */
static void sendrecv(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    int count = (int)t.bytes;
    for (long r = 0; r < repetitions; r++) {
        if ((r % 2 == 0) == t.origin)
            MPI_Send(t.source, count, MPI_BYTE, t.peer, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(t.dest, count, MPI_BYTE, t.peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static const struct operation operations[] = {
    {"put", "rma", OWN_LATENCY, BYTE_SIZES, ORIGINS, 1, &put_data, put, NULL},
    {"get", "rma", OWN_LATENCY, BYTE_SIZES, ORIGINS, 1, &get_data, get, NULL},
    {"iput", "rma", OWN_LATENCY, WORD_SIZES, ORIGINS, 1, &iput_data, iput, NULL},
    {"iget", "rma", OWN_LATENCY, WORD_SIZES, ORIGINS, 1, &iget_data, iget, NULL},
    {"sendrecv", "sendrecv", OWN_LATENCY, BYTE_SIZES, BOTH, 1, &put_data, sendrecv, NULL},
};

int main(int argc, char **argv)
{
    static const struct program program = {
        .name = "mpi-latency",
        .what = "time of one operation between the PEs of a pair, with MPI_Win_flush",
        .pairs = true,
        .windows = true,
        .least = 1,
        .operations = operations,
        .count = sizeof operations / sizeof *operations,
    };
    return program_run(&program, argc, argv);
}
