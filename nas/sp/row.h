/* The implicit factors along one axis: for every line of points three pentadiagonal systems, one
 * for each eigenvalue (the normal velocity, and that plus and minus the speed of sound).
 *
 * Up to LANES neighbouring lines are solved side by side: row n holds the n-th unknowns of all of
 * them. Loops go over lines, which do not depend on each other, and vectorise for every axis. */
#ifndef ROW_H
#define ROW_H

#include "problem.h"

enum { LANES = 24 };
enum { MOST_GROUPS = (MOST_POINTS - 2 + LANES - 1) / LANES };
enum eigenvalue { CONVECTION, FASTER, SLOWER, EIGENVALUES };

/* Components in the basis of eigenvectors; the first three belong to CONVECTION, the others to
 * FASTER and SLOWER. */
typedef double Vector[COMPONENTS][LANES];

/* An eliminated row: unknown n is r minus next times unknown n + 1 minus second times unknown
 * n + 2. Before it is eliminated, r is the right-hand side. */
typedef struct {
    Vector r;
    double next[EIGENVALUES][LANES], second[EIGENVALUES][LANES];
} Row;

enum { ROW_PARTS = sizeof(Row) / sizeof(double[LANES]) };

/* The values that determine the matrices, at the points of one row. */
typedef struct {
    double convection[LANES], diffusion[LANES], sound[LANES];
} Speeds;

/* Eliminates row n by the two before. speeds[0], [1], [2] are those of rows n - 1, n and n + 1;
 * `dissipation` are the weights of the fourth difference times those of the scheme. */
void row_eliminate(Row *row, const Row *before, const Row *second_before, const Speeds *speeds,
                   const double dissipation[STENCIL], int lanes);

/* Replaces r by the unknowns, those of the two rows after being known. */
void row_substitute(Row *row, const Vector after, const Vector second_after, int lanes);

#endif
