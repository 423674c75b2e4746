/* Sweeps. Slice by slice, a PE eliminates the rows of its cell in the slice and sends the last two
 * rows to the owner of the next cell; then back-substitution visits the slices in the opposite
 * order, and a PE sends the unknowns of its first two rows to the owner of the cell before. The
 * data are written directly into the memory of the other PE's cell.
 *
 * Eliminated rows are kept for back-substitution. They stay in the cache because only a batch of
 * planes of lines goes through all slices and back at a time. */
#include "sweep.h"

#include "benchmark.h"
#include "block.h"
#include "field.h"
#include "flag.h"
#include "rhs.h"
#include "variant.h"

/* The data of the cells before and after it that a block needs. */
typedef struct {
    Row before[GHOSTS];   /* the last eliminated row, the one before */
    Vector after[GHOSTS]; /* unknowns of the first row, of the second */
} Beside;

static Beside *beside;   /* [cell][axis][plane][group], symmetric */
static Row *kept;        /* [slice][plane of the batch][group][row] */
static int batches;      /* of the planes of a cell */
static const Beside end; /* beyond the boundaries: zero */

enum { KEPT_BYTES = 1024 << 10 }; /* upper limit, unless one plane needs more */

static size_t groups(void)
{
    return (size_t)(partition.widest + LANES - 1) / LANES;
}

static size_t blocks_of_cell(void)
{
    return (size_t)partition.widest * groups();
}

static size_t beside_size(void)
{
    size_t cells = partition.q > 1 ? (size_t)partition.q : 0;
    return cells * AXES * blocks_of_cell() * sizeof(Beside);
}

/* Rows of one plane in all slices but the last. In the last slice back-substitution follows at
 * once, block by block: the rows of one block are enough. */
static size_t kept_of_plane(void)
{
    return (size_t)(partition.q - 1) * groups() * (size_t)partition.widest * sizeof(Row);
}

static size_t planes_of_batch(void)
{
    size_t all = (size_t)partition.widest;
    size_t planes = kept_of_plane() > 0 ? KEPT_BYTES / kept_of_plane() : all;
    return planes < 1 ? 1 : planes > all ? all : planes;
}

static size_t kept_size(void)
{
    return planes_of_batch() * kept_of_plane() + (size_t)partition.widest * sizeof(Row);
}

size_t sweeps_size(void)
{
    return beside_size() + kept_size();
}

void sweeps_make(void)
{
    size_t planes = planes_of_batch();
    batches = (int)(((size_t)partition.widest + planes - 1) / planes);
    beside = symmetric(beside_size(), "the ends of lines");
    kept = symmetric(kept_size(), "the eliminated rows");
}

/* The first plane of a batch, the end of the one before. */
static int batch_start(int cell, enum axis axis, int batch)
{
    return planes_of(cell, axis) * batch / batches;
}

/* `plane` counts from the first of the batch. */
static Row *rows_of(int slice, int plane, int group)
{
    size_t block = (size_t)slice * planes_of_batch() * groups();
    if (slice < partition.q - 1)
        block += (size_t)plane * groups() + (size_t)group;
    return kept + block * (size_t)partition.widest;
}

static Beside *beside_block(int cell, const Block *b)
{
    size_t block = (size_t)(cell * AXES + (int)b->axis) * blocks_of_cell();
    return beside + block + (size_t)b->plane * groups() + (size_t)b->group;
}

static int slice_of(const Block *b)
{
    return partition.cells[b->cell].slice[b->axis];
}

/* Of a row or vector, which both are arrays of LANES, the first `lanes` of each. */
static inline void send_parts(void *to, const void *from, int parts, int lanes, int pe)
{
    double *there = to;
    const double *here = from;
    for (int p = 0; p < parts; p++)
        copy_to(there + p * LANES, here + p * LANES, (size_t)lanes, pe);
}

/* Sends the last two rows to the next cell. */
static void send_on(const Block *b)
{
    Beside *there = beside_block(cell_beside(b->cell, b->axis, HIGH), b);
    for (int g = 0; g < GHOSTS; g++)
        send_parts(&there->before[g], &b->rows[b->length - 1 - g], ROW_PARTS, b->lanes,
                   partition.neighbour[b->axis][HIGH]);
}

/* Sends the unknowns of the first two rows to the cell before. */
static void send_back(const Block *b)
{
    Beside *there = beside_block(cell_beside(b->cell, b->axis, LOW), b);
    for (int g = 0; g < GHOSTS; g++)
        send_parts(there->after[g], b->rows[g].r, COMPONENTS, b->lanes,
                   partition.neighbour[b->axis][LOW]);
}

static void eliminate(const Block *b)
{
    const int first = partition.cells[b->cell].first[b->axis];
    const Beside *ends = slice_of(b) > 0 ? beside_block(b->cell, b) : &end;
    block_start(b);
    for (int n = 0; n < b->length; n++) {
        double w[STENCIL];
        dissipation_weights(first + n, w);
        for (int t = 0; t < STENCIL; t++)
            w[t] *= scheme.dissipation;
        block_load(b, n);
        row_eliminate(&b->rows[n], n > 0 ? &b->rows[n - 1] : &ends->before[0],
                      n > 1 ? &b->rows[n - 2] : &ends->before[1 - n], &b->speeds[n], w, b->lanes);
    }
}

static void substitute(const Block *b)
{
    int last = b->length - 1;
    const Beside *ends = slice_of(b) < partition.q - 1 ? beside_block(b->cell, b) : &end;
    for (int n = last; n >= 0; n--) {
        row_substitute(&b->rows[n], n < last ? b->rows[n + 1].r : ends->after[0],
                       n < last - 1 ? b->rows[n + 2].r : ends->after[n + 1 - last], b->lanes);
        block_store(b, n);
    }
    block_finish(b);
    if (slice_of(b) > 0)
        send_back(b);
}

/* Computes the state before the lines along x, which use it first. */
static void state_ahead(int cell, int plane)
{
    if (plane == 0) {
        state_plane(cell, -1);
        state_plane(cell, 0);
    }
    state_plane(cell, plane + 1);
}

/* Elimination in one cell, and back-substitution if it is in the last slice. */
static void go_on(enum axis axis, int slice, int cell, int batch)
{
    static Speeds speeds[MOST_POINTS];
    int first = batch_start(cell, axis, batch), past = batch_start(cell, axis, batch + 1);
    for (int plane = first; plane < past; plane++) {
        if (axis == X)
            state_ahead(cell, plane);
        for (int group = 0; group < groups_of(cell, axis); group++) {
            Row *rows = rows_of(slice, plane - first, group);
            Block b = block_at(cell, axis, plane, group, rows, speeds);
            eliminate(&b);
            if (slice < partition.q - 1)
                send_on(&b);
            else
                substitute(&b);
        }
    }
}

static void go_back(enum axis axis, int slice, int cell, int batch)
{
    int first = batch_start(cell, axis, batch), past = batch_start(cell, axis, batch + 1);
    for (int plane = first; plane < past; plane++)
        for (int group = 0; group < groups_of(cell, axis); group++) {
            Row *rows = rows_of(slice, plane - first, group);
            Block b = block_at(cell, axis, plane, group, rows, NULL);
            substitute(&b);
        }
}

static void raise_beside(enum axis axis, int cell, enum side side, long count)
{
    flag_raise(flag_of_lines(cell_beside(cell, axis, side), axis, side == HIGH ? LOW : HIGH), count,
               partition.neighbour[axis][side]);
}

static void sweep_batch(enum axis axis, int batch, long count)
{
    int last = partition.q - 1;
    for (int slice = 0; slice <= last; slice++) {
        int cell = cell_in_slice(axis, slice);
        if (slice > 0)
            flag_await(flag_of_lines(cell, axis, LOW), count);
        go_on(axis, slice, cell, batch);
        if (slice < last)
            raise_beside(axis, cell, HIGH, count);
        else if (slice > 0)
            raise_beside(axis, cell, LOW, count);
    }
    for (int slice = last - 1; slice >= 0; slice--) {
        int cell = cell_in_slice(axis, slice);
        flag_await(flag_of_lines(cell, axis, HIGH), count);
        go_back(axis, slice, cell, batch);
        if (slice > 0)
            raise_beside(axis, cell, LOW, count);
    }
}

void sweep(enum axis axis, long step)
{
    for (int batch = 0; batch < batches; batch++)
        sweep_batch(axis, batch, step * batches + batch);
}
