/* Blocks of lines. Blocks along x are computed from the right-hand side while they are loaded, and
 * transposed; loading also does the change of basis of the axis. */
#include "block.h"

#include "basis.h"
#include "field.h"
#include "rhs.h"

static enum axis plane_axis(enum axis axis)
{
    return axis == Z ? Y : Z;
}

static enum axis lane_axis(enum axis axis)
{
    return axis == X ? Y : X;
}

int planes_of(int cell, enum axis axis)
{
    return partition.cells[cell].count[plane_axis(axis)];
}

int groups_of(int cell, enum axis axis)
{
    return (partition.cells[cell].count[lane_axis(axis)] + LANES - 1) / LANES;
}

Block block_at(int cell, enum axis axis, int plane, int group, Row *rows, Speeds *speeds)
{
    const int *count = partition.cells[cell].count;
    int lines = count[lane_axis(axis)], groups = groups_of(cell, axis);
    int width = (lines + groups - 1) / groups;
    width += width % 2 && width < LANES; /* so that only the last has an odd number */
    int first = group * width, rest = lines - first;
    return (Block){.axis = axis, .cell = cell, .plane = plane, .group = group, .first = first,
                   .lanes = rest < width ? rest : width, .length = count[axis], .rows = rows,
                   .speeds = speeds};
}

/* Speeds of `n` points, times dt, from the state at the first. */
static inline void speeds_of(enum axis axis, const double *state, int n,
                             double *restrict convection, double *restrict diffusion,
                             double *restrict sound)
{
    const double *velocity = state + (VELOCITY + axis) * fields.pitch;
    const double *specific = state + SPECIFIC * fields.pitch;
    const double *speed = state + SOUND * fields.pitch;
    for (int i = 0; i < n; i++) {
        convection[i] = scheme.central * velocity[i];
        diffusion[i] = scheme.diffusion[axis] + scheme.implicit_shear * specific[i];
        sound[i] = scheme.central * speed[i];
    }
}

/* Lines along x: several are computed along x, then transposed. */

enum { TILE = 8, FIRST_SPEED = COMPONENTS, TILE_PARTS = COMPONENTS + 3 };
typedef double Tile[TILE_PARTS][MOST_POINTS]; /* of one line; its speeds begin at point -1 */

static void to_basis_x(Line line, const double *state, int n)
{
    const size_t pitch = fields.pitch;
    double *restrict r0 = line[0], *restrict r1 = line[1], *restrict r2 = line[2],
           *restrict r3 = line[3], *restrict r4 = line[4];
    const double *vx = state + VELOCITY * pitch, *vy = vx + pitch, *vz = vy + pitch;
    for (int i = 0; i < n; i++) {
        Point p = {state[SPECIFIC * pitch + i], {vx[i], vy[i], vz[i]}, state[SOUND * pitch + i],
                   state[KINETIC * pitch + i]};
        double r[COMPONENTS] = {r0[i], r1[i], r2[i], r3[i], r4[i]};
        basis_x(r, &p);
        r0[i] = r[0];
        r1[i] = r[1];
        r2[i] = r[2];
        r3[i] = r[3];
        r4[i] = r[4];
    }
}

static void tile_fill(const Block *b, int j, Tile tile)
{
    const double *state = state_line(b->cell, b->plane, j);
    right_hand_side(b->cell, b->plane, j, tile);
    to_basis_x(tile, state, b->length);
    speeds_of(X, state - 1, b->length + 2, tile[FIRST_SPEED], tile[FIRST_SPEED + 1],
              tile[FIRST_SPEED + 2]);
}

static inline void tile_turn(const Block *b, const Tile *tiles, int lane, int lines)
{
    for (int m = 0; m < COMPONENTS; m++)
        for (int n = 0; n < b->length; n++)
            for (int t = 0; t < lines; t++)
                b->rows[n].r[m][lane + t] = tiles[t][m][n];
    for (int n = 0; n < b->length + 2; n++)
        for (int t = 0; t < lines; t++) {
            b->speeds[n].convection[lane + t] = tiles[t][FIRST_SPEED][n];
            b->speeds[n].diffusion[lane + t] = tiles[t][FIRST_SPEED + 1][n];
            b->speeds[n].sound[lane + t] = tiles[t][FIRST_SPEED + 2][n];
        }
}

static void load_x(const Block *b)
{
    static Tile tiles[TILE];
    for (int lane = 0; lane < b->lanes; lane += TILE) {
        int lines = b->lanes - lane < TILE ? b->lanes - lane : TILE;
        for (int t = 0; t < lines; t++)
            tile_fill(b, b->first + lane + t, tiles[t]);
        if (lines == TILE) /* the usual case, compiled for a constant length */
            tile_turn(b, tiles, lane, TILE);
        else
            tile_turn(b, tiles, lane, lines);
    }
}

static void store_x(const Block *b)
{
    for (int lane = 0; lane < b->lanes; lane++) {
        double *rhs = rhs_line(b->cell, b->plane, b->first + lane);
        for (int m = 0; m < COMPONENTS; m++)
            for (int n = 0; n < b->length; n++)
                rhs[(size_t)m * fields.inner + (size_t)n] = b->rows[n].r[m][lane];
    }
}

/* Lines along y and z: a row is a piece of a line of the fields. */

static void row_speeds(const Block *b, int n)
{
    int j = b->axis == Y ? n : b->plane, k = b->axis == Y ? b->plane : n;
    Speeds *speeds = &b->speeds[n + 1];
    speeds_of(b->axis, state_line(b->cell, k, j) + b->first, b->lanes, speeds->convection,
              speeds->diffusion, speeds->sound);
}

static inline __attribute__((always_inline)) void load_row(const Block *b, int n,
                                                           void (*change)(double[COMPONENTS]))
{
    int j = b->axis == Y ? n : b->plane, k = b->axis == Y ? b->plane : n;
    const double *rhs = rhs_line(b->cell, k, j) + b->first;
    const size_t pitch = fields.inner;
    Row *restrict row = &b->rows[n];
    for (int l = 0; l < b->lanes; l++) {
        double r[COMPONENTS] = {rhs[l], rhs[pitch + l], rhs[2 * pitch + l], rhs[3 * pitch + l],
                                rhs[4 * pitch + l]};
        change(r);
        for (int m = 0; m < COMPONENTS; m++)
            row->r[m][l] = r[m];
    }
}

static void store_y(const Block *b, int n)
{
    double *restrict rhs = rhs_line(b->cell, b->plane, n) + b->first;
    for (size_t m = 0; m < COMPONENTS; m++)
        for (int l = 0; l < b->lanes; l++)
            rhs[m * fields.inner + l] = b->rows[n].r[m][l];
}

/* The end of a step: u changes. */
static void add_z(const Block *b, int n)
{
    const size_t pitch = fields.pitch;
    const double *state = state_line(b->cell, n, b->plane) + b->first;
    const double *vx = state + VELOCITY * pitch, *vy = vx + pitch, *vz = vy + pitch;
    const Row *row = &b->rows[n];
    double *restrict u = u_line(b->cell, n, b->plane) + b->first;
    for (int l = 0; l < b->lanes; l++) {
        Point p = {state[SPECIFIC * pitch + l], {vx[l], vy[l], vz[l]}, state[SOUND * pitch + l],
                   state[KINETIC * pitch + l]};
        double r[COMPONENTS] = {row->r[0][l], row->r[1][l], row->r[2][l], row->r[3][l],
                                row->r[4][l]};
        basis_z_to_u(r, &p, u[l]);
        for (size_t m = 0; m < COMPONENTS; m++)
            u[m * pitch + l] += r[m];
    }
}

void block_start(const Block *b)
{
    if (b->axis == X) {
        load_x(b);
        return;
    }
    row_speeds(b, -1);
    row_speeds(b, 0);
}

void block_load(const Block *b, int n)
{
    if (b->axis == X)
        return;
    row_speeds(b, n + 1);
    if (b->axis == Y)
        load_row(b, n, basis_x_to_y);
    else
        load_row(b, n, basis_y_to_z);
}

void block_store(const Block *b, int n)
{
    if (b->axis == Y)
        store_y(b, n);
    else if (b->axis == Z)
        add_z(b, n);
}

void block_finish(const Block *b)
{
    if (b->axis == X)
        store_x(b);
}
