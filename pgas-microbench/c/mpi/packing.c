/* Packing of a part of a matrix with MPI: a datatype describes the blocks of the source, which go to one place of the
 * partner, and come back from it. */
#include "../packing_data.h"
#include "../program.h"
#include "job_mpi.h"

/* The blocks, as far apart as they are long. The caller frees the datatype. */
static MPI_Datatype blocks_apart(const struct transfer *t)
{
    const int words = (int)(t->bytes / sizeof(uint64_t));
    MPI_Datatype type;
    MPI_Type_vector((int)(AREA / t->bytes), words, 2 * words, MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Words of all blocks. */
static int words_of(const struct transfer *t)
{
    return (int)(AREA / t->bytes * (t->bytes / sizeof(uint64_t)));
}

#define ONE_SIDED(name, memory, call)                                   \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        const int peer = partner(&t), words = words_of(&t);             \
        MPI_Win window = job_window_at(memory);                         \
        MPI_Datatype apart = blocks_apart(&t);                          \
        for (long r = 0; r < repetitions; r++) {                        \
            call;                                                       \
            MPI_Win_flush(peer, window);                                \
        }                                                               \
        MPI_Type_free(&apart);                                          \
    }

ONE_SIDED(pack, t.dest,
          MPI_Put(t.source, 1, apart, peer, 0, words, MPI_UINT64_T, window))
ONE_SIDED(unpack, t.source,
          MPI_Get(t.dest, words, MPI_UINT64_T, peer, 0, 1, apart, window))

/* Two messages at once: each process sends to its partner, and receives from the one whose partner it is. */
static void sendrecv(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    const int to = partner(&t), from = partner_back(&t), words = words_of(&t);
    MPI_Datatype apart = blocks_apart(&t);
    for (long r = 0; r < repetitions; r++)
        MPI_Sendrecv(t.source, 1, apart, to, 0, t.dest, words, MPI_UINT64_T, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&apart);
}

static const struct operation operations[] = {
    {"pack", "rma", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &packing_data, pack, NULL},
    {"pack", "sendrecv", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &packing_data, sendrecv, NULL},
    {"unpack", "rma", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &packing_data, unpack, NULL},
};

PROGRAM("mpi-packing", "time to move 8 MiB in blocks of some bytes, as far apart, to one place",
        .windows = true, .least = sizeof(uint64_t))
