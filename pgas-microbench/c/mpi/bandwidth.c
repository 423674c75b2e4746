/* Bandwidth and message rate with MPI, all pairs at once.
 *
 * A repetition is a window of operations on the same memory. The operations with the names of
 * blocking ones of OpenSHMEM are completed at the origin one by one, the others at the end by one
 * flush. For the rate, each message goes to another element of an array. */
#include "../pair_data.h"
#include "../program.h"
#include "job_mpi.h"
#include "strided.h"

#define PUT MPI_Put(t.source, bytes, MPI_BYTE, t.peer, 0, bytes, MPI_BYTE, window)
#define GET MPI_Get(t.dest, bytes, MPI_BYTE, t.peer, 0, bytes, MPI_BYTE, window)
#define IPUT MPI_Put(t.source, longs, MPI_LONG, t.peer, 0, 1, apart, window)
#define IGET MPI_Get(t.dest, longs, MPI_LONG, t.peer, 0, 1, apart, window)
#define MESSAGE                                                                    \
    MPI_Put((long *)t.source + w, 1, MPI_LONG, t.peer, (MPI_Aint)sizeof(long) * w, \
            1, MPI_LONG, window)

/* Windows of `operation`, each followed by `complete`, on the memory that `remote` names. */
#define WINDOWS(name, remote, operation, complete)                      \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        MPI_Win window = job_window_at(t.remote);                       \
        int bytes = (int)t.bytes;                                       \
        (void)bytes;                                                    \
        for (long r = 0; r < repetitions; r++) {                        \
            for (int w = 0; w < t.window; w++) {                        \
                operation;                                              \
                complete;                                               \
            }                                                           \
            MPI_Win_flush(t.peer, window);                              \
        }                                                               \
    }

/* The same with longs at a stride on the other PE. */
#define STRIDED(name, remote, operation)                                \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        MPI_Win window = job_window_at(t.remote);                       \
        MPI_Datatype apart = longs_apart(t.bytes);                      \
        int longs = (int)(t.bytes / sizeof(long));                      \
        for (long r = 0; r < repetitions; r++) {                        \
            for (int w = 0; w < t.window; w++)                          \
                operation;                                              \
            MPI_Win_flush(t.peer, window);                              \
        }                                                               \
        MPI_Type_free(&apart);                                          \
    }

WINDOWS(put, dest, PUT, MPI_Win_flush_local(t.peer, window))
WINDOWS(put_nbi, dest, PUT, (void)0)
WINDOWS(get, source, GET, MPI_Win_flush_local(t.peer, window))
WINDOWS(get_nbi, source, GET, (void)0)
WINDOWS(put_rate, dest, MESSAGE, (void)0)
STRIDED(iput, dest, IPUT)
STRIDED(iget, source, IGET)

/* Windows of messages to the peer, which answers each window with an empty message. */
static void sendrecv(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    int bytes = (int)t.bytes, ticket = 1;
    for (long r = 0; r < repetitions; r++) {
        for (int w = 0; w < t.window; w++) {
            if (t.origin)
                MPI_Isend(t.source, bytes, MPI_BYTE, t.peer, 0, MPI_COMM_WORLD, &requests[w]);
            else
                MPI_Irecv(t.dest, bytes, MPI_BYTE, t.peer, 0, MPI_COMM_WORLD, &requests[w]);
        }
        MPI_Waitall(t.window, requests, statuses);
        if (t.origin)
            MPI_Recv(NULL, 0, MPI_BYTE, t.peer, ticket, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, t.peer, ticket, MPI_COMM_WORLD);
    }
}

#define RMA(name, sizes, data) \
    {#name, "rma", BANDWIDTH, sizes, ORIGINS, WINDOW, &data, name, NULL}

static const struct operation operations[] = {
    RMA(put, BYTE_SIZES, put_data),
    RMA(put_nbi, BYTE_SIZES, put_data),
    RMA(get, BYTE_SIZES, get_data),
    RMA(get_nbi, BYTE_SIZES, get_data),
    RMA(iput, WORD_SIZES, iput_data),
    RMA(iget, WORD_SIZES, iget_data),
    {"sendrecv", "sendrecv", BANDWIDTH, BYTE_SIZES, BOTH, WINDOW, &put_data, sendrecv, NULL},
    {"put", "rma", RATE, LONG_SIZE, ORIGINS, WINDOW, &window_data, put_rate, NULL},
    {"sendrecv", "sendrecv", RATE, LONG_SIZE, BOTH, WINDOW, &put_data, sendrecv, NULL},
};

PAIR_PROGRAM("mpi-bandwidth",
             "bytes and messages per second of all pairs, from the first start to the last end")
