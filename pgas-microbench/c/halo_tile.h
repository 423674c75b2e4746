/* The halo exchange: PEs in rows and columns, the last ones beside the first ones, each with a tile of a grid. A frame
 * of one point around the tile, the halo, has the points of the neighbours' tiles that are beside it. */
#ifndef HALO_TILE_H
#define HALO_TILE_H

#include "operation.h"

/* Bytes of a tile, whatever its shape. */
#define TILE_BYTES ((size_t)8 << 20)

/* The shape of a tile. A row of its array has `width` + 2 points. */
struct tile {
    size_t width, height;
};

/* Rows of `bytes` bytes. */
static inline struct tile tile_of(size_t bytes)
{
    return (struct tile){bytes / sizeof(double), TILE_BYTES / bytes};
}

/* Elements from a point to the one below it. */
static inline size_t pitch_of(struct tile tile)
{
    return tile.width + 2;
}

/* The point in a row and a column of the array: those of the tile are from 1 to `height`, and from 1 to `width`. */
static inline double *point(double *array, struct tile tile, size_t row, size_t column)
{
    return array + row * pitch_of(tile) + column;
}

enum side { ABOVE, BELOW, LEFT, RIGHT, SIDES };

/* The neighbours by their side. */
struct neighbours {
    int pe[SIDES];
};

struct neighbours neighbours_of(int pe, int pes);

/* The side on which a PE is for its neighbour on `side`. */
static inline enum side opposite(enum side side)
{
    return (enum side)(side ^ 1);
}

/* `source` is the array with tile and halo; `dest` is not used. */
extern const struct data tile_data;

/* The name of the operation: says whether a PE has more than one thread. */
const char *halo_name(void);

#endif
