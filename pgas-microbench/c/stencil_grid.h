/* The grid of the five-point stencil: GRID x GRID points, of which each PE has a block of rows. */
#ifndef STENCIL_GRID_H
#define STENCIL_GRID_H

#include "operation.h"

enum {
    GRID = 1282,                         /* points of a row, and rows */
    INNER = GRID - 2,                    /* rows that change; the border does not */
    ROW_BYTES = GRID * sizeof(double),   /* what two PEs exchange, each way */
};

/* The rows of a PE. Row 0 and row `count` + 1 of its array belong to the PE above and below it, or to the border. */
struct rows {
    int first, count; /* rows of the grid */
    int above, below; /* the PEs, or -1 */
};

struct rows rows_of(int pe, int pes);

/* The next state of rows 1 to `count`: the mean of the four neighbours of each point. `above` and `below` are the rows
 * beside them, wherever they are. */
void relax(const double *old, double *new, int count, const double *above, const double *below);

/* Row `row` of an array. */
static inline double *row_at(double *array, int row)
{
    return array + (size_t)row * GRID;
}

/* After a step, the new state is the old one of the next. */
static inline void swap_states(double **old, double **new)
{
    double *other = *old;
    *old = *new;
    *new = other;
}

/* `source` has the state before each call, `dest` the one after an odd number of steps. */
extern const struct data grid_data;

/* The name of the operation: says whether a PE has more than one thread. */
const char *stencil_name(void);

#endif
