/* Latency between the PEs of pairs with MPI: one-sided operations in passive target mode, each
 * followed by a flush, and two-sided messages, of which half a round trip is counted. */
#include "../pair_data.h"
#include "../program.h"
#include "job_mpi.h"
#include "strided.h"

/* Repeats `call`, an operation on `memory` of the peer. */
#define ONE_SIDED(name, memory, call)                                   \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        MPI_Win window = job_window_at(memory);                         \
        int count = (int)t.bytes;                                       \
        for (long r = 0; r < repetitions; r++) {                        \
            call;                                                       \
            MPI_Win_flush(t.peer, window);                              \
        }                                                               \
    }

/* The same with longs at a stride on the peer. */
#define STRIDED(name, memory, call)                                     \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        MPI_Win window = job_window_at(memory);                         \
        MPI_Datatype apart = longs_apart(t.bytes);                      \
        int count = (int)(t.bytes / sizeof(long));                      \
        for (long r = 0; r < repetitions; r++) {                        \
            call;                                                       \
            MPI_Win_flush(t.peer, window);                              \
        }                                                               \
        MPI_Type_free(&apart);                                          \
    }

ONE_SIDED(put, t.dest,
          MPI_Put(t.source, count, MPI_BYTE, t.peer, 0, count, MPI_BYTE, window))
ONE_SIDED(get, t.source,
          MPI_Get(t.dest, count, MPI_BYTE, t.peer, 0, count, MPI_BYTE, window))
STRIDED(iput, t.dest, MPI_Put(t.source, count, MPI_LONG, t.peer, 0, 1, apart, window))
STRIDED(iget, t.source, MPI_Get(t.dest, count, MPI_LONG, t.peer, 0, 1, apart, window))

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

/* Both processes send to each other: an application that does nothing but communicate. */
static void exchange(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    int count = (int)t.bytes;
    for (long r = 0; r < repetitions; r++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        char *to = exchange_place(&t, r);
        MPI_Irecv(to, count, MPI_BYTE, t.peer, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(t.source, count, MPI_BYTE, t.peer, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
    }
}

/* As sendrecv, behind receives that do not match. */
static void sendrecv_deep(const struct transfer *transfer, long repetitions)
{
    static MPI_Request requests[DEPTH];
    static char never;
    static bool are_begun;
    if (repetitions > 0 && !are_begun)
        for (int i = 0; i < DEPTH; i++)
            MPI_Irecv(&never, 1, MPI_BYTE, transfer->peer, i + 1, MPI_COMM_WORLD, &requests[i]);
    sendrecv(transfer, repetitions);
    if (repetitions == 0 && are_begun)
        for (int i = 0; i < DEPTH; i++) {
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    are_begun = repetitions > 0;
}

static const struct operation operations[] = {
    {"put", "rma", OWN_LATENCY, BYTE_SIZES, ORIGINS, 1, &put_data, put, NULL},
    {"get", "rma", OWN_LATENCY, BYTE_SIZES, ORIGINS, 1, &get_data, get, NULL},
    {"iput", "rma", OWN_LATENCY, WORD_SIZES, ORIGINS, 1, &iput_data, iput, NULL},
    {"iget", "rma", OWN_LATENCY, WORD_SIZES, ORIGINS, 1, &iget_data, iget, NULL},
    {"exchange", "sendrecv", OWN_LATENCY, BYTE_SIZES, BOTH, 1, &exchange_data, exchange, NULL},
    {"sendrecv", "sendrecv", OWN_LATENCY, BYTE_SIZES, BOTH, 1, &put_data, sendrecv, NULL},
    {"sendrecv_deep", "sendrecv", OWN_LATENCY, LONG_SIZE, BOTH, 1, &put_data, sendrecv_deep, NULL},
};

PAIR_PROGRAM("mpi-latency",
             "time of one operation between the PEs of a pair, with MPI_Win_flush")
