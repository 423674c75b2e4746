/* Change of basis, at a point: from the right-hand side to the eigenvectors of the x direction,
 * from there to those of y, of z, and back to a change of u. RNR-94-007, the diagonal form of
 * the approximate factorisation (T. H. Pulliam, D. S. Chaussee, 1981). */
#ifndef BASIS_H
#define BASIS_H

#include "problem.h"

#define SQRT_HALF 0.70710678118654752440

/* The state at a point. */
typedef struct {
    double specific, velocity[AXES], sound, kinetic;
} Point;

static inline void basis_x(double r[COMPONENTS], const Point *p)
{
    const double *v = p->velocity, s = p->specific;
    double sum = p->kinetic * r[0] - v[X] * r[1] - v[Y] * r[2] - v[Z] * r[3] + r[4];
    double acoustic = (GAMMA - 1) / (p->sound * p->sound) * sum;
    double shear = SQRT_HALF * s * (v[X] * r[0] - r[1]);
    double half = SQRT_HALF * s * p->sound * acoustic;
    double around_y = s * (r[3] - v[Z] * r[0]), around_z = s * (v[Y] * r[0] - r[2]);
    r[0] -= acoustic;
    r[1] = around_y;
    r[2] = around_z;
    r[3] = half - shear;
    r[4] = half + shear;
}

static inline void basis_x_to_y(double r[COMPONENTS])
{
    double tilt = SQRT_HALF * r[2], mean = 0.5 * (r[3] + r[4]), first = r[0];
    r[0] = -r[1];
    r[1] = first;
    r[2] = SQRT_HALF * (r[3] - r[4]);
    r[3] = mean - tilt;
    r[4] = mean + tilt;
}

static inline void basis_y_to_z(double r[COMPONENTS])
{
    double tilt = SQRT_HALF * r[0], mean = 0.5 * (r[3] + r[4]), second = r[1];
    r[0] = SQRT_HALF * (r[3] - r[4]);
    r[1] = -r[2];
    r[2] = second;
    r[3] = mean - tilt;
    r[4] = mean + tilt;
}

static inline void basis_z_to_u(double r[COMPONENTS], const Point *p, double density)
{
    const double *v = p->velocity, scale = SQRT_HALF * density;
    double acoustic = scale / p->sound * (r[3] + r[4]);
    double mass = r[2] + acoustic, along_z = scale * (r[3] - r[4]);
    double along_x = -density * r[1], along_y = density * r[0];
    double enthalpy = p->sound * p->sound / (GAMMA - 1) * acoustic;
    r[0] = mass;
    r[1] = along_x + v[X] * mass;
    r[2] = along_y + v[Y] * mass;
    r[3] = along_z + v[Z] * mass;
    r[4] = v[X] * along_x + v[Y] * along_y + v[Z] * along_z + p->kinetic * mass + enthalpy;
}

#endif
