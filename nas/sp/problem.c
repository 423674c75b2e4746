/* Classes, verification values and coefficients, from the NAS Parallel Benchmarks report
 * RNR-94-007 and the reports that added classes W and C. */
#include "problem.h"

#include <stddef.h>

static const Problem problems[] = {
    {'S', 12, 100, 0.015,
     {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02,
      1.5840557224455615e-02, 3.4849040609362460e-02},
     {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05,
      1.5750704994480102e-05, 3.4177666183390531e-05}},
    {'W', 36, 400, 0.0015,
     {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03, 0.2887475409984e-03,
      0.3143611161242e-02},
     {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04, 0.1128838671535e-04,
      0.1212845639773e-03}},
    {'A', 64, 400, 0.0015,
     {2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179,
      2.1292113035138280},
     {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05,
      4.7671093939528255e-05, 1.3621613399213001e-04}},
    {'B', 102, 400, 0.001,
     {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02, 0.3864769009604e+02,
      0.5643482272596e+02},
     {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02, 0.1694479428231e-02,
      0.1847456263981e-01}},
    {'C', MOST_POINTS, 400, 0.00067,
     {0.5881691581829e+03, 0.2454417603569e+03, 0.3293829191851e+03, 0.3081924971891e+03,
      0.4597223799176e+03},
     {0.2598120500183e+00, 0.2590888922315e-01, 0.5132886416320e-01, 0.4806073419454e-01,
      0.5483377491301e+00}},
};

Problem problem;
Scheme scheme;

static void set_scheme(int points, double dt)
{
    static const double diffusivity[AXES] = {0.75, 0.75, 1.0};
    double spacing = 1.0 / (points - 1), second = dt / (spacing * spacing);
    scheme.central = dt / (2 * spacing);
    scheme.shear = VISCOSITY * second;
    scheme.bulk = scheme.shear * 4 / 3;
    scheme.kinetic = scheme.shear * (1 - CONDUCTION);
    scheme.normal_square = scheme.shear / 6;
    scheme.heat = scheme.shear * CONDUCTION;
    for (int axis = X; axis < AXES; axis++)
        scheme.diffusion[axis] = diffusivity[axis] * second;
    /* The factors take the largest of the model's viscous terms, which is always heat. */
    scheme.implicit_shear = scheme.heat;
    scheme.dissipation = dt * 0.25 * diffusivity[Z]; /* a quarter of the largest */
}

void problem_choose(char class)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (problems[i].class == class)
            problem = problems[i];
    set_scheme(problem.points, problem.dt);
}

void dissipation_weights(int point, double weights[STENCIL])
{
    static const double inner[STENCIL] = {1, -4, 6, -4, 1};
    int last = problem.points - 2;
    for (int t = 0; t < STENCIL; t++)
        weights[t] = inner[t];
    if (point == 1 || point == last)
        weights[2] = 5;
    if (point <= 2)
        weights[0] = 0;
    if (point == 1)
        weights[1] = 0;
    if (point >= last - 1)
        weights[4] = 0;
    if (point == last)
        weights[3] = 0;
}
