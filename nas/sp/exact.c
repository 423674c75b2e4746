/* Exact and starting solution: RNR-94-007, section 3 of the simulated applications. */
#include "exact.h"

#include <stdbool.h>

/* Each component is a constant plus a polynomial in each coordinate: of x, x^2, x^3, x^4. */
static const struct {
    double constant;
    double powers[AXES][4];
} polynomials[COMPONENTS] = {
    {2, {{0, 5, 0.02, 0.5}, {0, 3, 0.01, 0.4}, {4, 0.5, 0.03, 0.3}}},
    {1, {{0, 1, 0.01, 0.4}, {0, 2, 0.03, 0.3}, {0, 3, 0.02, 0.5}}},
    {2, {{2, 0, 0.04, 0.3}, {0, 2, 0.03, 0.5}, {0, 3, 0.05, 0.4}}},
    {2, {{2, 0, 0.03, 0.2}, {0, 2, 0.05, 0.1}, {0, 3, 0.04, 0.3}}},
    {5, {{4, 0.1, 0.05, 0.1}, {3, 0.4, 0.04, 0.3}, {2, 0.3, 0.03, 0.2}}},
};

static void evaluate(const double at[AXES], double u[COMPONENTS])
{
    for (int m = 0; m < COMPONENTS; m++) {
        u[m] = polynomials[m].constant;
        for (int axis = X; axis < AXES; axis++) {
            const double *c = polynomials[m].powers[axis], x = at[axis];
            u[m] += x * (c[0] + x * (c[1] + x * (c[2] + x * c[3])));
        }
    }
}

static void coordinates(const int point[AXES], double at[AXES])
{
    for (int axis = X; axis < AXES; axis++)
        at[axis] = (double)point[axis] / (problem.points - 1);
}

void exact_solution(const int point[AXES], double u[COMPONENTS])
{
    double at[AXES];
    coordinates(point, at);
    evaluate(at, u);
}

static bool is_inner(const int point[AXES])
{
    for (int axis = X; axis < AXES; axis++)
        if (point[axis] <= 0 || point[axis] >= problem.points - 1)
            return false;
    return true;
}

/* Transfinite interpolation: linear interpolations between opposite boundaries along each axis,
 * combined so that the result agrees with all boundaries. */
void start_solution(const int point[AXES], double u[COMPONENTS])
{
    double at[AXES], between[AXES][COMPONENTS];
    if (!is_inner(point)) {
        exact_solution(point, u);
        return;
    }
    coordinates(point, at);
    for (int axis = X; axis < AXES; axis++) {
        double low[COMPONENTS], high[COMPONENTS], x = at[axis];
        at[axis] = 0;
        evaluate(at, low);
        at[axis] = 1;
        evaluate(at, high);
        at[axis] = x;
        for (int m = 0; m < COMPONENTS; m++)
            between[axis][m] = (1 - x) * low[m] + x * high[m];
    }
    for (int m = 0; m < COMPONENTS; m++) {
        double x = between[X][m], y = between[Y][m], z = between[Z][m];
        u[m] = x + y + z - x * y - x * z - y * z + x * y * z;
    }
}
