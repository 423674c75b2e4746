/* Verification: root mean squares of the residual and of the difference from the exact solution,
 * over inner points (on the boundary both are zero). */
#include "verify.h"

#include <math.h>
#include <shmem.h>
#include <stdio.h>

#include "exact.h"
#include "field.h"
#include "reduce.h"
#include "rhs.h"

#define TOLERANCE 1e-8

static void add_error(int c, int k, int j, double sum[COMPONENTS])
{
    const Cell *cell = &partition.cells[c];
    for (int i = 0; i < cell->count[X]; i++) {
        int point[AXES] = {cell->first[X] + i, cell->first[Y] + j, cell->first[Z] + k};
        double exact[COMPONENTS];
        exact_solution(point, exact);
        for (size_t m = 0; m < COMPONENTS; m++) {
            double difference = u_line(c, k, j)[m * fields.pitch + i] - exact[m];
            sum[m] += difference * difference;
        }
    }
}

static void add_residual(int c, int k, int j, double sum[COMPONENTS])
{
    static Line line;
    right_hand_side(c, k, j, line);
    for (int m = 0; m < COMPONENTS; m++)
        for (int i = 0; i < partition.cells[c].count[X]; i++) {
            double residual = line[m][i] / problem.dt;
            sum[m] += residual * residual;
        }
}

static void norm(void (*add)(int, int, int, double[COMPONENTS]), double result[COMPONENTS])
{
    double inner = problem.points - 2;
    double sum[COMPONENTS] = {0};
    for (int c = 0; c < partition.q; c++)
        for (int k = 0; k < partition.cells[c].count[Z]; k++)
            for (int j = 0; j < partition.cells[c].count[Y]; j++)
                add(c, k, j, sum);
    for (int m = 0; m < COMPONENTS; m++)
        result[m] = sqrt(sum_double(sum[m]) / (inner * inner * inner));
}

static bool agree(const char *what, const double is[COMPONENTS], const double must[COMPONENTS])
{
    bool good = true;
    if (shmem_my_pe() == 0)
        printf(" Comparison of RMS-norms of %s\n", what);
    for (int m = 0; m < COMPONENTS; m++) {
        double off = fabs((is[m] - must[m]) / must[m]);
        bool agrees = off <= TOLERANCE; /* false if it is not a number */
        good = good && agrees;
        if (shmem_my_pe() == 0)
            printf(" %s %2d%20.13E%20.13E%20.13E\n", agrees ? "        " : "FAILURE:", m + 1, is[m],
                   must[m], off);
    }
    return good;
}

bool verify(void)
{
    double error[COMPONENTS], residual[COMPONENTS];
    for (int c = 0; c < partition.q; c++)
        for (int k = -1; k <= partition.cells[c].count[Z]; k++)
            state_plane(c, k);
    norm(add_residual, residual);
    norm(add_error, error);
    bool residual_agrees = agree("residual", residual, problem.residual);
    bool error_agrees = agree("solution error", error, problem.error);
    return residual_agrees && error_agrees;
}
