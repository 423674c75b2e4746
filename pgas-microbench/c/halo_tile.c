/* Tiles of the halo exchange, and which PEs are neighbours. */
#include "halo_tile.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* As square as can be: the number of columns is the largest divisor that is not above the root. */
static int columns_of(int pes)
{
    int columns = 1;
    for (int i = 2; i <= pes / i; i++)
        if (pes % i == 0)
            columns = i;
    return columns;
}

struct neighbours neighbours_of(int pe, int pes)
{
    const int columns = columns_of(pes), rows = pes / columns;
    const int row = pe / columns, column = pe % columns;
    return (struct neighbours){.pe = {
        [ABOVE] = (row + rows - 1) % rows * columns + column,
        [BELOW] = (row + 1) % rows * columns + column,
        [LEFT] = row * columns + (column + columns - 1) % columns,
        [RIGHT] = row * columns + (column + 1) % columns,
    }};
}

const char *halo_name(void)
{
#ifdef _OPENMP
    return omp_get_max_threads() > 1 ? "halo_threads" : "halo";
#else
    return "halo";
#endif
}

static size_t array_bytes(size_t bytes, int pes)
{
    (void)pes;
    const struct tile tile = tile_of(bytes);
    return (tile.height + 2) * pitch_of(tile) * sizeof(double);
}

static size_t no_bytes(size_t bytes, int pes)
{
    (void)bytes, (void)pes;
    return sizeof(double);
}

/* Differs between PEs and between points of the same tile. */
static double value(int pe, struct tile tile, size_t row, size_t column)
{
    return 1 + (double)pe * TILE_BYTES + (double)((row - 1) * tile.width + column - 1);
}

static void fill(const struct transfer *t)
{
    const struct tile tile = tile_of(t->bytes);
    double *const array = (double *)t->source;
    for (size_t row = 0; row < tile.height + 2; row++)
        for (size_t column = 0; column < pitch_of(tile); column++) {
            const bool is_mine = row >= 1 && row <= tile.height && column >= 1 && column <= tile.width;
            *point(array, tile, row, column) = is_mine ? value(t->me, tile, row, column) : 0;
        }
}

/* The corners are no neighbour's. */
static bool check(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    const struct tile tile = tile_of(t->bytes);
    const struct neighbours next = neighbours_of(t->me, t->pes);
    double *const array = (double *)t->source;
    for (size_t column = 1; column <= tile.width; column++) {
        const double above = value(next.pe[ABOVE], tile, tile.height, column);
        const double below = value(next.pe[BELOW], tile, 1, column);
        if (*point(array, tile, 0, column) != above || *point(array, tile, tile.height + 1, column) != below)
            return false;
    }
    for (size_t row = 1; row <= tile.height; row++) {
        const double left = value(next.pe[LEFT], tile, row, tile.width);
        const double right = value(next.pe[RIGHT], tile, row, 1);
        if (*point(array, tile, row, 0) != left || *point(array, tile, row, tile.width + 1) != right)
            return false;
        for (size_t column = 1; column <= tile.width; column++)
            if (*point(array, tile, row, column) != value(t->me, tile, row, column))
                return false;
    }
    return true;
}

const struct data tile_data = {array_bytes, no_bytes, fill, check};
