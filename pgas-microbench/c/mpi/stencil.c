/* The five-point stencil on a grid of 1282 x 1282 points with MPI: neighbours exchange rows by messages. */
#include "../stencil_grid.h"
#include "../program.h"
#include "job_mpi.h"

static void sendrecv(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    const struct rows rows = rows_of(t.me, t.pes);
    const int above = rows.above >= 0 ? rows.above : MPI_PROC_NULL;
    const int below = rows.below >= 0 ? rows.below : MPI_PROC_NULL;
    double *old = (double *)t.source, *new = (double *)t.dest;
    for (long r = 0; r < repetitions; r++) {
        MPI_Request requests[4];
        MPI_Status statuses[4];
        MPI_Irecv(old, GRID, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(row_at(old, rows.count + 1), GRID, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                  &requests[1]);
        MPI_Isend(row_at(old, 1), GRID, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(row_at(old, rows.count), GRID, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, statuses);
        relax(old, new, rows.count, old, row_at(old, rows.count + 1));
        swap_states(&old, &new);
    }
}

int main(int argc, char **argv)
{
    const struct operation operations[] = {
        {stencil_name(), "sendrecv", OWN_LATENCY, NO_SIZE, EVERYONE, 1, &grid_data, sendrecv, NULL},
    };
    const struct program program = {
        .name = "mpi-stencil",
        .what = "time of a step of the five-point stencil on 1282 x 1282 points",
        .least = 1,
        .most_pes = INNER,
        .operations = operations,
        .count = sizeof operations / sizeof *operations,
    };
    return program_run(&program, argc, argv);
}
