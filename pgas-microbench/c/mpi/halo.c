/* Exchange of the halo of 2D tiles with MPI: rows as they are, columns by a datatype, by messages or one-sided puts. */
#include "../halo_tile.h"
#include "../program.h"
#include "job_mpi.h"

/* A line of the tile, and where it goes in the neighbour's halo. */
struct line {
    MPI_Aint from, to; /* bytes from the begin of the array */
    MPI_Aint halo;     /* the same of this PE's halo on that side */
    int count, pe;
    MPI_Datatype type; /* of `count` such */
};

static MPI_Aint at(struct tile tile, size_t row, size_t column)
{
    return (MPI_Aint)((row * pitch_of(tile) + column) * sizeof(double));
}

/* The caller frees the datatype of the columns. */
static MPI_Datatype lines_of(const struct transfer *t, struct line lines[SIDES])
{
    const struct tile tile = tile_of(t->bytes);
    const struct neighbours next = neighbours_of(t->me, t->pes);
    const size_t w = tile.width, h = tile.height;
    MPI_Datatype column;
    MPI_Type_vector((int)h, 1, (int)pitch_of(tile), MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    const struct line all[SIDES] = {
        [ABOVE] = {at(tile, 1, 1), at(tile, h + 1, 1), at(tile, 0, 1), (int)w, next.pe[ABOVE], MPI_DOUBLE},
        [BELOW] = {at(tile, h, 1), at(tile, 0, 1), at(tile, h + 1, 1), (int)w, next.pe[BELOW], MPI_DOUBLE},
        [LEFT] = {at(tile, 1, 1), at(tile, 1, w + 1), at(tile, 1, 0), 1, next.pe[LEFT], column},
        [RIGHT] = {at(tile, 1, w), at(tile, 1, 0), at(tile, 1, w + 1), 1, next.pe[RIGHT], column},
    };
    for (int side = 0; side < SIDES; side++)
        lines[side] = all[side];
    return column;
}

/* A message to each neighbour, and one from each. Their tag is the side to which the sender sends. */
static void exchange_messages(char *array, const struct line lines[SIDES])
{
    MPI_Request requests[2 * SIDES];
    MPI_Status statuses[2 * SIDES]; /* as MPICH declares it, a compiler warns of none */
    for (int side = 0; side < SIDES; side++) {
        const struct line *const l = &lines[side];
        MPI_Irecv(array + l->halo, l->count, l->type, l->pe, (int)opposite((enum side)side),
                  MPI_COMM_WORLD, &requests[side]);
    }
    for (int side = 0; side < SIDES; side++) {
        const struct line *const l = &lines[side];
        MPI_Isend(array + l->from, l->count, l->type, l->pe, side, MPI_COMM_WORLD,
                  &requests[SIDES + side]);
    }
    MPI_Waitall(2 * SIDES, requests, statuses);
}

/* Puts, and empty messages once they are complete. */
static void exchange_puts(char *array, const struct line lines[SIDES])
{
    MPI_Win window = job_window_at(array);
    for (int side = 0; side < SIDES; side++) {
        const struct line *const l = &lines[side];
        MPI_Put(array + l->from, l->count, l->type, l->pe, l->to, l->count, l->type, window);
    }
    MPI_Win_flush_all(window);
    MPI_Request requests[2 * SIDES];
    MPI_Status statuses[2 * SIDES]; /* as MPICH declares it, a compiler warns of none */
    for (int side = 0; side < SIDES; side++) {
        const int pe = lines[side].pe;
        MPI_Irecv(NULL, 0, MPI_BYTE, pe, (int)opposite((enum side)side), MPI_COMM_WORLD, &requests[side]);
        MPI_Isend(NULL, 0, MPI_BYTE, pe, side, MPI_COMM_WORLD, &requests[SIDES + side]);
    }
    MPI_Waitall(2 * SIDES, requests, statuses);
}

static void steps(const struct transfer *t, long repetitions,
                  void (*exchange)(char *, const struct line *))
{
    struct line lines[SIDES];
    MPI_Datatype column = lines_of(t, lines);
#pragma omp parallel
    for (long r = 0; r < repetitions; r++) {
#pragma omp master
        exchange(t->source, lines);
#pragma omp barrier
    }
    MPI_Type_free(&column);
}

static void sendrecv(const struct transfer *transfer, long repetitions)
{
    steps(transfer, repetitions, exchange_messages);
}

static void rma(const struct transfer *transfer, long repetitions)
{
    steps(transfer, repetitions, exchange_puts);
}

int main(int argc, char **argv)
{
    const char *name = halo_name();
    const struct operation operations[] = {
        {name, "sendrecv", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &tile_data, sendrecv, NULL},
        {name, "rma", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &tile_data, rma, NULL},
    };
    const struct program program = {
        .name = "mpi-halo",
        .what = "time to exchange the halo of a tile of 8 MiB with four neighbours, by the bytes of a row",
        .windows = true,
        .least = sizeof(double),
        .operations = operations,
        .count = sizeof operations / sizeof *operations,
    };
    return program_run(&program, argc, argv);
}
