/* Gaussian elimination without pivoting for pentadiagonal systems, and back-substitution. */
#include "row.h"

#define INLINED static inline __attribute__((always_inline))

/* A row of the matrix: the entries of unknowns n - 2 to n + 2. */
typedef struct {
    double second_below, below, diagonal, above, second_above;
} Entries;

/* One line's system of one eigenvalue, and the components of r from `first` to `last`. */
INLINED void eliminate(Row *row, const Row *before, const Row *second_before, Entries a, int l,
                       enum eigenvalue e, int first, int last)
{
    a.below -= a.second_below * second_before->next[e][l];
    a.diagonal -= a.second_below * second_before->second[e][l] + a.below * before->next[e][l];
    a.above -= a.below * before->second[e][l];
    double scale = 1 / a.diagonal;
    row->next[e][l] = scale * a.above;
    row->second[e][l] = scale * a.second_above;
    for (int m = first; m <= last; m++)
        row->r[m][l] = scale * (row->r[m][l] - a.second_below * second_before->r[m][l]
                                - a.below * before->r[m][l]);
}

void row_eliminate(Row *restrict row, const Row *restrict before, const Row *restrict second_before,
                   const Speeds *restrict speeds, const double dissipation[STENCIL], int lanes)
{
    const Speeds *low = &speeds[0], *own = &speeds[1], *high = &speeds[2];
    const double w0 = dissipation[0], w1 = dissipation[1], w2 = dissipation[2],
                 w3 = dissipation[3], w4 = dissipation[4];
    for (int l = 0; l < lanes; l++) {
        Entries a = {w0, w1 - low->convection[l] - low->diffusion[l],
                     w2 + 2 * own->diffusion[l] + 1,
                     w3 + high->convection[l] - high->diffusion[l], w4};
        eliminate(row, before, second_before, a, l, CONVECTION, 0, 2);
        Entries faster = a, slower = a;
        faster.below -= low->sound[l];
        faster.above += high->sound[l];
        eliminate(row, before, second_before, faster, l, FASTER, 3, 3);
        slower.below += low->sound[l];
        slower.above -= high->sound[l];
        eliminate(row, before, second_before, slower, l, SLOWER, 4, 4);
    }
}

void row_substitute(Row *restrict row, const Vector after, const Vector second_after, int lanes)
{
    static const enum eigenvalue eigenvalue[COMPONENTS] = {CONVECTION, CONVECTION, CONVECTION,
                                                           FASTER, SLOWER};
    for (int m = 0; m < COMPONENTS; m++) {
        const double *next = row->next[eigenvalue[m]], *second = row->second[eigenvalue[m]];
        for (int l = 0; l < lanes; l++)
            row->r[m][l] -= next[l] * after[m][l] + second[l] * second_after[m][l];
    }
}
