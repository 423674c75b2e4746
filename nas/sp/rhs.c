/* Right-hand side: central differences of the compressible Navier-Stokes equations, with
 * fourth-order dissipation; RNR-94-007, sections 3.3 and 3.4 of the simulated applications.
 *
 * All functions work on lines along x, one component at a time, so that loops vectorise. */
#include "rhs.h"

#include <math.h>

#include "exact.h"
#include "field.h"

#define INLINED static inline __attribute__((always_inline))

static void state_line_compute(double *restrict state, const double *restrict u, int n)
{
    const size_t pitch = fields.pitch;
    const double *density = u, *mx = u + pitch, *my = mx + pitch, *mz = my + pitch;
    const double *energy = mz + pitch;
    double *specific = state, *vx = state + VELOCITY * pitch, *vy = vx + pitch, *vz = vy + pitch;
    double *pressure = vz + pitch, *sound = pressure + pitch, *kinetic = sound + pitch;
    for (int i = -1; i <= n; i++) {
        double s = 1 / density[i], x = mx[i] * s, y = my[i] * s, z = mz[i] * s;
        double half_square = 0.5 * (x * x + y * y + z * z);
        double p = (GAMMA - 1) * (energy[i] - density[i] * half_square);
        specific[i] = s;
        vx[i] = x;
        vy[i] = y;
        vz[i] = z;
        kinetic[i] = half_square;
        pressure[i] = p;
        sound[i] = sqrt(GAMMA * p * s);
    }
}

void state_plane(int cell, int k)
{
    const int *count = partition.cells[cell].count;
    int beside = k == -1 || k == count[Z]; /* edges are not used by neighbours */
    for (int j = beside ? 0 : -1; j < count[Y] + !beside; j++)
        state_line_compute(state_line(cell, k, j), u_line(cell, k, j), count[X]);
}

/* Weights of five points for diffusion less dissipation, both linear, times dt. */
typedef struct {
    double w[STENCIL];
} Stencil;

static Stencil stencil_at(enum axis axis, int point)
{
    static const double second[STENCIL] = {0, 1, -2, 1, 0};
    Stencil s;
    dissipation_weights(point, s.w);
    for (int t = 0; t < STENCIL; t++)
        s.w[t] = scheme.diffusion[axis] * second[t] - scheme.dissipation * s.w[t];
    return s;
}

INLINED double linear(const Stencil *s, const double *u, ptrdiff_t d)
{
    return s->w[0] * u[-2 * d] + s->w[1] * u[-d] + s->w[2] * u[0] + s->w[3] * u[d]
         + s->w[4] * u[2 * d];
}

INLINED double second(const double *f, ptrdiff_t d)
{
    return f[d] - 2 * f[0] + f[-d];
}

/* Distances between neighbouring lines along an axis. */
typedef struct {
    ptrdiff_t du, ds;     /* to the next point along the axis: in u, in state */
    const double *normal; /* velocity along the axis */
    Stencil stencil;
} Along;

/* Along x with its distances known to the compiler. */
INLINED Along along_x(const Along a[AXES])
{
    return (Along){.du = 1, .ds = 1, .normal = a[X].normal, .stencil = a[X].stencil};
}

/* The terms of an axis at point i of the right-hand side of density, of a momentum and of energy;
 * `own` is that component of u. */
INLINED double of_density(const double *own, const double *momentum, const Along *a, int i)
{
    return linear(&a->stencil, own + i, a->du)
         - scheme.central * (momentum[i + a->du] - momentum[i - a->du]);
}

/* Difference of the convective flux between the point before and the point after. */
INLINED double carried(const double *own, const Along *a, int i)
{
    return own[i + a->du] * a->normal[i + a->ds] - own[i - a->du] * a->normal[i - a->ds];
}

INLINED double of_tangential(const double *own, const double *velocity, const Along *a, int i)
{
    const double flux = carried(own, a, i);
    return linear(&a->stencil, own + i, a->du) + scheme.shear * second(velocity + i, a->ds)
         - scheme.central * flux;
}

INLINED double of_normal(const double *own, const double *pressure, const Along *a, int i)
{
    const double flux = carried(own, a, i);
    return linear(&a->stencil, own + i, a->du) + scheme.bulk * second(a->normal + i, a->ds)
         - scheme.central * (flux + pressure[i + a->ds] - pressure[i - a->ds]);
}

INLINED double of_energy(const double *own, const double *pressure, const double *specific,
                         const double *kinetic, const Along *a, int i)
{
    const double low = a->normal[i - a->ds], here = a->normal[i], high = a->normal[i + a->ds];
    const double e_low = own[i - a->du], e_high = own[i + a->du];
    const double flux = (e_high + pressure[i + a->ds]) * high - (e_low + pressure[i - a->ds]) * low;
    const double square = low * low - 2 * here * here + high * high;
    const double per_mass = e_low * specific[i - a->ds] - 2 * own[i] * specific[i]
                          + e_high * specific[i + a->ds];
    return linear(&a->stencil, own + i, a->du) + scheme.kinetic * second(kinetic + i, a->ds)
         + scheme.normal_square * square + scheme.heat * per_mass - scheme.central * flux;
}

static void set_density(double *restrict out, const double *forcing, const double *u, int n,
                        const Along a[AXES])
{
    const size_t pitch = fields.pitch;
    const Along x = along_x(a), y = a[Y], z = a[Z];
    const double *u1 = u + pitch, *u2 = u1 + pitch, *u3 = u2 + pitch;
    for (int i = 0; i < n; i++)
        out[i] = forcing[i] + of_density(u, u1, &x, i) + of_density(u, u2, &y, i)
               + of_density(u, u3, &z, i);
}

INLINED void set_momentum(enum axis axis, double *restrict out, const double *forcing,
                          const double *own, const double *pressure, int n, const Along a[AXES])
{
    const Along x = along_x(a), y = a[Y], z = a[Z];
    const double *velocity = a[axis].normal;
    for (int i = 0; i < n; i++) {
        double sum = forcing[i];
        sum += axis == X ? of_normal(own, pressure, &x, i) : of_tangential(own, velocity, &x, i);
        sum += axis == Y ? of_normal(own, pressure, &y, i) : of_tangential(own, velocity, &y, i);
        sum += axis == Z ? of_normal(own, pressure, &z, i) : of_tangential(own, velocity, &z, i);
        out[i] = sum;
    }
}

static void set_energy(double *restrict out, const double *forcing, const double *own,
                       const double *state, int n, const Along a[AXES])
{
    const size_t pitch = fields.pitch;
    const Along x = along_x(a), y = a[Y], z = a[Z];
    const double *specific = state + SPECIFIC * pitch, *pressure = state + PRESSURE * pitch;
    const double *kinetic = state + KINETIC * pitch;
    for (int i = 0; i < n; i++)
        out[i] = forcing[i] + of_energy(own, pressure, specific, kinetic, &x, i)
               + of_energy(own, pressure, specific, kinetic, &y, i)
               + of_energy(own, pressure, specific, kinetic, &z, i);
}

/* Along x, points next to a boundary were computed with the stencil of the inner points. */
static void correct_ends(const Cell *cell, const double *u, const Stencil *inner, Line out)
{
    for (int i = 0; i < cell->count[X]; i++) {
        int point = cell->first[X] + i;
        if (point > 2 && point < problem.points - 3)
            continue;
        Stencil own = stencil_at(X, point);
        for (int m = 0; m < COMPONENTS; m++) {
            const double *at = u + (size_t)m * fields.pitch + i;
            out[m][i] += linear(&own, at, 1) - linear(inner, at, 1);
        }
    }
}

static Along along(enum axis axis, const double *state, int point)
{
    return (Along){.du = distance(axis, COMPONENTS), .ds = distance(axis, QUANTITIES),
                   .normal = state + (size_t)(VELOCITY + axis) * fields.pitch,
                   .stencil = stencil_at(axis, point)};
}

void right_hand_side(int c, int k, int j, Line out)
{
    const Cell *cell = &partition.cells[c];
    const double *u = u_line(c, k, j), *state = state_line(c, k, j);
    const Along a[AXES] = {along(X, state, problem.points / 2),
                           along(Y, state, cell->first[Y] + j),
                           along(Z, state, cell->first[Z] + k)};
    const double *forcing = forcing_line(c, k, j), *pressure = state + PRESSURE * fields.pitch;
    const size_t pitch = fields.pitch, inner = fields.inner;
    const int n = cell->count[X];
    set_density(out[0], forcing, u, n, a);
    set_momentum(X, out[1], forcing + inner, u + pitch, pressure, n, a);
    set_momentum(Y, out[2], forcing + 2 * inner, u + 2 * pitch, pressure, n, a);
    set_momentum(Z, out[3], forcing + 3 * inner, u + 3 * pitch, pressure, n, a);
    set_energy(out[4], forcing + 4 * inner, u + 4 * pitch, state, n, a);
    correct_ends(cell, u, &a[X].stencil, out);
}

/* The forcing makes the right-hand side of the exact solution zero. */
static void forcing_of_cell(int c)
{
    const int *count = partition.cells[c].count;
    for (int k = -1; k <= count[Z]; k++)
        state_plane(c, k);
    for (int k = 0; k < count[Z]; k++)
        for (int j = 0; j < count[Y]; j++) {
            static Line line;
            right_hand_side(c, k, j, line);
            for (int m = 0; m < COMPONENTS; m++)
                for (int i = 0; i < count[X]; i++)
                    forcing_line(c, k, j)[(size_t)m * fields.inner + i] = -line[m][i];
        }
}

void forcing_make(void)
{
    fields_fill(exact_solution);
    for (int c = 0; c < partition.q; c++)
        forcing_of_cell(c);
    fields_fill(start_solution);
}
