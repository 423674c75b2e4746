/* The problem: classes with their verification values, and the physics of the model. */
#ifndef PROBLEM_H
#define PROBLEM_H

enum { COMPONENTS = 5 };        /* density, three momenta, energy */
enum axis { X, Y, Z, AXES };
enum { MOST_POINTS = 162 };     /* along an axis, in the largest class */
enum { STENCIL = 5 };           /* points of the dissipation operator: -2 to 2 */

/* A class; residual and error are the root mean squares after the last step of a correct
 * program. */
typedef struct {
    char class;
    int points; /* along each axis, boundaries included */
    int iterations;
    double dt;
    double residual[COMPONENTS];
    double error[COMPONENTS];
} Problem;

/* Ratio of specific heats, and viscosity and heat conduction in the units of the model. */
#define GAMMA 1.4
#define VISCOSITY 0.1
#define CONDUCTION (GAMMA * 1.4) /* relative to viscosity */

/* Coefficients of the scheme, all times dt. */
typedef struct {
    double central;         /* of a difference of neighbours: 1 / 2h */
    double shear;           /* of second differences of tangential velocities */
    double bulk;            /* of the normal velocity */
    double kinetic;         /* of the squared speed halved */
    double normal_square;   /* of the squared normal velocity */
    double heat;            /* of energy per mass */
    double diffusion[AXES]; /* of second differences of all components */
    double implicit_shear;  /* added to diffusion by viscosity in the implicit factors */
    double dissipation;     /* of fourth differences */
} Scheme;

extern Problem problem;
extern Scheme scheme;

/* Sets both for a class. */
void problem_choose(char class);

/* Weights of the fourth difference at a point, which is one-sided next to boundaries;
 * `point` is an inner one, 1 to points - 2. */
void dissipation_weights(int point, double weights[STENCIL]);

#endif
