/* Gaussian elimination without pivoting for pentadiagonal systems, and back-substitution. */
#include "row.h"

#define INLINED static inline __attribute__((always_inline))

/* The systems of one eigenvalue, with the components of r from `first` to `last`. */
INLINED void eliminate(Row *restrict row, const Row *restrict before,
                       const Row *restrict second_before, const Speeds *restrict speeds,
                       const double w[STENCIL], int lanes, enum eigenvalue e, int first, int last)
{
    const double sign = e == FASTER ? 1 : e == SLOWER ? -1 : 0;
    const Speeds *low = speeds, *own = speeds + 1, *high = speeds + 2;
    const double w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4];
    for (int l = 0; l < lanes; l++) {
        double below = w1 - (low->convection[l] + sign * low->sound[l]) - low->diffusion[l];
        double diagonal = 1 + w2 + 2 * own->diffusion[l];
        double above = w3 + (high->convection[l] + sign * high->sound[l]) - high->diffusion[l];
        below -= w0 * second_before->next[e][l];
        diagonal -= w0 * second_before->second[e][l] + below * before->next[e][l];
        above -= below * before->second[e][l];
        double scale = 1 / diagonal;
        row->next[e][l] = scale * above;
        row->second[e][l] = scale * w4;
        for (int m = first; m <= last; m++)
            row->r[m][l] = scale * (row->r[m][l] - w0 * second_before->r[m][l]
                                    - below * before->r[m][l]);
    }
}

void row_eliminate(Row *row, const Row *before, const Row *second_before, const Speeds *speeds,
                   const double dissipation[STENCIL], int lanes)
{
    eliminate(row, before, second_before, speeds, dissipation, lanes, CONVECTION, 0, 2);
    eliminate(row, before, second_before, speeds, dissipation, lanes, FASTER, 3, 3);
    eliminate(row, before, second_before, speeds, dissipation, lanes, SLOWER, 4, 4);
}

INLINED void substitute(Row *restrict row, const Vector after, const Vector second_after,
                        int lanes, enum eigenvalue e, int first, int last)
{
    for (int l = 0; l < lanes; l++)
        for (int m = first; m <= last; m++)
            row->r[m][l] -= row->next[e][l] * after[m][l] + row->second[e][l] * second_after[m][l];
}

void row_substitute(Row *row, const Vector after, const Vector second_after, int lanes)
{
    substitute(row, after, second_after, lanes, CONVECTION, 0, 2);
    substitute(row, after, second_after, lanes, FASTER, 3, 3);
    substitute(row, after, second_after, lanes, SLOWER, 4, 4);
}
