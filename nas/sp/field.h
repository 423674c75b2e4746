/* The fields of a PE's cells, u and state with ghost points on all sides.
 *
 * A line of points along x is contiguous; the components of a line follow each other, then come
 * the lines along y, the planes along z, the cells. All cells have the size of the largest, so
 * that a point has the same address on every PE. */
#ifndef FIELD_H
#define FIELD_H

#include <stddef.h>

#include "partition.h"

/* Values derived from u at a point: the reciprocal of density, velocity, pressure, speed of sound,
 * half of the squared velocity. */
enum { SPECIFIC, VELOCITY, PRESSURE = VELOCITY + AXES, SOUND, KINETIC, QUANTITIES };

typedef struct {
    size_t pitch;    /* from one component of a line to the next, in u and state */
    size_t inner;    /* in forcing and rhs; both are also the number of lines of a plane, and of
                        planes of a cell */
    double *u;       /* the solution */
    double *state;   /* values derived from u */
    double *forcing; /* makes the exact solution stationary */
    double *rhs;     /* right-hand side, then change of u: between sweeps */
} Fields;

extern Fields fields;

/* Symmetric bytes that fields need. */
size_t fields_size(void);

/* Allocates the fields; the partition must be set. */
void fields_make(void);

/* The first inner point of a line of a field with `n` components, with and without ghosts. */
static inline double *line_of(double *field, size_t n, int cell, int k, int j)
{
    size_t plane = (size_t)cell * fields.pitch + (size_t)(k + GHOSTS);
    size_t line = plane * fields.pitch + (size_t)(j + GHOSTS);
    return field + line * n * fields.pitch + GHOSTS;
}

static inline double *inner_line_of(double *field, size_t n, int cell, int k, int j)
{
    size_t plane = (size_t)cell * fields.inner + (size_t)k;
    return field + (plane * fields.inner + (size_t)j) * n * fields.inner;
}

/* Distances of neighbours along an axis in a field with ghosts. */
static inline ptrdiff_t distance(enum axis axis, size_t n)
{
    size_t line = n * fields.pitch;
    return axis == X ? 1 : (ptrdiff_t)(axis == Y ? line : line * fields.pitch);
}

static inline double *u_line(int cell, int k, int j)
{
    return line_of(fields.u, COMPONENTS, cell, k, j);
}

static inline double *state_line(int cell, int k, int j)
{
    return line_of(fields.state, QUANTITIES, cell, k, j);
}

static inline double *forcing_line(int cell, int k, int j)
{
    return inner_line_of(fields.forcing, COMPONENTS, cell, k, j);
}

static inline double *rhs_line(int cell, int k, int j)
{
    return inner_line_of(fields.rhs, COMPONENTS, cell, k, j);
}

/* Sets u at all points of all cells, ghosts included, by a function of the global point. */
void fields_fill(void (*solution)(const int point[AXES], double u[COMPONENTS]));

#endif
