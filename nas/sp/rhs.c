/* Right-hand side: central differences of the compressible Navier-Stokes equations, with
 * fourth-order dissipation; RNR-94-007, sections 3.3 and 3.4 of the simulated applications.
 *
 * Everything works on lines along x, one component at a time, so that loops vectorise. */
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
    int beside = k == -1 || k == count[Z]; /* edges are nobody's neighbours */
    for (int j = beside ? 0 : -1; j < count[Y] + !beside; j++)
        state_line_compute(state_line(cell, k, j), u_line(cell, k, j), count[X]);
}

/* A line and its neighbours along an axis. */
typedef struct {
    const double *u, *state;
    ptrdiff_t du, dstate; /* to the next point along the axis */
    const double (*weights)[MOST_POINTS]; /* of the neighbours, for each point: along x */
    double weight[STENCIL];               /* or for all points: along y and z */
    int n;
} Around;

/* Differences of the points before and after, and second differences. */
#define ACROSS(f, d) ((f)[i + (d)] - (f)[i - (d)])
#define SECOND(f, d) ((f)[i + (d)] - 2 * (f)[i] + (f)[i - (d)])

/* Diffusion and dissipation, which are linear, minus the central difference of a flux, plus
 * viscous terms. */
#define ADD(m, flux, viscous)                                                               \
    do {                                                                                    \
        double *restrict to = out[m];                                                       \
        const double *restrict own = a->u + (size_t)(m)*fields.pitch;                       \
        for (int i = 0; i < a->n; i++)                                                      \
            to[i] += WEIGHT(0) * own[i - 2 * du] + WEIGHT(1) * own[i - du] + WEIGHT(2) * own[i] \
                   + WEIGHT(3) * own[i + du] + WEIGHT(4) * own[i + 2 * du]                  \
                   - scheme.central * (flux) + (viscous);                                   \
    } while (0)
#define WEIGHT(t) (axis == X ? a->weights[t][i] : w##t)

INLINED void add_axis(enum axis axis, Line out, const Around *a)
{
    const size_t pitch = fields.pitch;
    const ptrdiff_t du = axis == X ? 1 : a->du, ds = axis == X ? 1 : a->dstate;
    const double w0 = a->weight[0], w1 = a->weight[1], w2 = a->weight[2], w3 = a->weight[3],
                 w4 = a->weight[4];
    const double *normal = a->state + (VELOCITY + axis) * pitch;
    const double *pressure = a->state + PRESSURE * pitch;
    const double *momentum = a->u + (1 + axis) * pitch;
    ADD(0, ACROSS(momentum, du), 0);
    for (int other = X; other < AXES; other++) {
        const double *velocity = a->state + (size_t)(VELOCITY + other) * pitch;
        if (other != (int)axis)
            ADD(1 + other, own[i + du] * normal[i + ds] - own[i - du] * normal[i - ds],
                scheme.shear * SECOND(velocity, ds));
    }
    ADD(1 + axis,
        own[i + du] * normal[i + ds] - own[i - du] * normal[i - ds] + ACROSS(pressure, ds),
        scheme.bulk * SECOND(normal, ds));
    const double *kinetic = a->state + KINETIC * pitch, *specific = a->state + SPECIFIC * pitch;
#define SQUARE(at) (normal[at] * normal[at])
#define PER_MASS(at) (own[i + (at) * du] * specific[i + (at) * ds])
#define WORK(at) ((own[i + (at) * du] + pressure[i + (at) * ds]) * normal[i + (at) * ds])
    ADD(4, WORK(1) - WORK(-1),
        scheme.kinetic * SECOND(kinetic, ds)
            + scheme.normal_square * (SQUARE(i + ds) - 2 * SQUARE(i) + SQUARE(i - ds))
            + scheme.heat * (PER_MASS(1) - 2 * PER_MASS(0) + PER_MASS(-1)));
}

/* Weights of the five points for diffusion less dissipation, times dt. */
static void linear_weights(enum axis axis, int point, double weight[STENCIL])
{
    static const double second[STENCIL] = {0, 1, -2, 1, 0};
    dissipation_weights(point, weight);
    for (int t = 0; t < STENCIL; t++)
        weight[t] = scheme.diffusion[axis] * second[t] - scheme.dissipation * weight[t];
}

void right_hand_side(int c, int k, int j, Line out)
{
    static double weights[STENCIL][MOST_POINTS]; /* along x, of the cell */
    static int weights_of = -1;
    const Cell *cell = &partition.cells[c];
    const int n = cell->count[X];
    if (weights_of != c) {
        for (int i = 0; i < n; i++) {
            double weight[STENCIL];
            linear_weights(X, cell->first[X] + i, weight);
            for (int t = 0; t < STENCIL; t++)
                weights[t][i] = weight[t];
        }
        weights_of = c;
    }
    Around a = {.u = u_line(c, k, j), .state = state_line(c, k, j), .weights = weights, .n = n};
    for (int m = 0; m < COMPONENTS; m++)
        for (int i = 0; i < n; i++)
            out[m][i] = forcing_line(c, k, j)[m * fields.pitch + i];
    add_axis(X, out, &a);
    linear_weights(Y, cell->first[Y] + j, a.weight);
    a.du = distance(Y, COMPONENTS);
    a.dstate = distance(Y, QUANTITIES);
    add_axis(Y, out, &a);
    linear_weights(Z, cell->first[Z] + k, a.weight);
    a.du = distance(Z, COMPONENTS);
    a.dstate = distance(Z, QUANTITIES);
    add_axis(Z, out, &a);
}

/* The forcing is what the right-hand side of the exact solution lacks to be zero. */
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
                    forcing_line(c, k, j)[m * fields.pitch + i] = -line[m][i];
        }
}

void forcing_make(void)
{
    fields_fill(exact_solution);
    for (int c = 0; c < partition.q; c++)
        forcing_of_cell(c);
    fields_fill(start_solution);
}
