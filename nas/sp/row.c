/* Gaussian elimination without pivoting for pentadiagonal systems, and back-substitution. */
#include "row.h"

#define INLINED static inline __attribute__((always_inline))

/* The row of one system, and its components of r from `first` to `last`; below, diagonal and above
 * are the matrix's entries without the speed of sound, `outer` is the one before below. */
INLINED void eliminate(Row *row, const Row *before, const Row *second_before,
                       const Speeds *speeds, double outer, double last_entry, double below,
                       double diagonal, double above, int l, enum eigenvalue e, int first, int last)
{
    const double sign = e == FASTER ? 1 : e == SLOWER ? -1 : 0;
    below -= sign * speeds[0].sound[l] + outer * second_before->next[e][l];
    diagonal -= outer * second_before->second[e][l] + below * before->next[e][l];
    above += sign * speeds[2].sound[l] - below * before->second[e][l];
    double scale = 1 / diagonal;
    row->next[e][l] = scale * above;
    row->second[e][l] = scale * last_entry;
    for (int m = first; m <= last; m++)
        row->r[m][l] = scale * (row->r[m][l] - outer * second_before->r[m][l]
                                - below * before->r[m][l]);
}

void row_eliminate(Row *restrict row, const Row *restrict before, const Row *restrict second_before,
                   const Speeds *restrict speeds, const double dissipation[STENCIL], int lanes)
{
    const Speeds *low = speeds, *own = speeds + 1, *high = speeds + 2;
    const double w0 = dissipation[0], w1 = dissipation[1], w2 = dissipation[2],
                 w3 = dissipation[3], w4 = dissipation[4];
    for (int l = 0; l < lanes; l++) {
        double below = w1 - low->convection[l] - low->diffusion[l];
        double diagonal = 1 + w2 + 2 * own->diffusion[l];
        double above = w3 + high->convection[l] - high->diffusion[l];
        eliminate(row, before, second_before, speeds, w0, w4, below, diagonal, above, l, CONVECTION,
                  0, 2);
        eliminate(row, before, second_before, speeds, w0, w4, below, diagonal, above, l, FASTER, 3,
                  3);
        eliminate(row, before, second_before, speeds, w0, w4, below, diagonal, above, l, SLOWER, 4,
                  4);
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
