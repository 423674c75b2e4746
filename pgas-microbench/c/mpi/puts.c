/* Many short one-sided puts with MPI, and one flush: from one process to all, and from all to all, in turn. */
#include "../program.h"
#include "../puts_data.h"
#include "job_mpi.h"

/* Bytes from the window's begin to where a process' put goes. */
static MPI_Aint place_of(const struct transfer *t, int i)
{
    return (MPI_Aint)((char *)(place(t, t->me) + i) - t->dest);
}

static void put(const struct transfer *t, int i, int pe, MPI_Win window)
{
    MPI_Put((const long *)t->source + i, 1, MPI_LONG, pe, place_of(t, i), 1, MPI_LONG, window);
}

/* The other processes wait for the end, so that their time is that of all puts. */
static void one_to_all(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Win window = job_window_at(t.dest);
    if (t.me != 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (long r = 0; r < repetitions; r++) {
        for (int i = 0; i < EACH; i++)
            for (int pe = 0; pe < t.pes; pe++)
                put(&t, i, pe, window);
        MPI_Win_flush_all(window);
    }
    for (int pe = 1; pe < t.pes; pe++)
        MPI_Send(NULL, 0, MPI_BYTE, pe, 0, MPI_COMM_WORLD);
}

static void all_to_all(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    MPI_Win window = job_window_at(t.dest);
    for (long r = 0; r < repetitions; r++) {
        for (int i = 0; i < EACH; i++)
            put(&t, i, target(&t, t.me, i), window);
        MPI_Win_flush_all(window);
    }
}

static const struct operation operations[] = {
    {"one_to_all", "rma", RATE, LONG_SIZE, EVERYONE, EACH, &one_to_all_data, one_to_all, NULL},
    {"all_to_all", "rma", RATE, LONG_SIZE, EVERYONE, EACH, &all_to_all_data, all_to_all, NULL},
};

PROGRAM("mpi-puts", "short one-sided puts of one process or of all processes to all, per second",
        .windows = true, .least = sizeof(long))
