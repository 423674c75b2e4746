/* Reductions over all PEs, by the teams of OpenSHMEM 1.5 or the active sets of 1.4. */
#ifndef REDUCE_H
#define REDUCE_H

#include <stddef.h>

/* Of one value of each PE. */
long sum_long(long mine);
double sum_double(double mine);
double max_double(double mine);

/* Of symmetric arrays of n elements; `all` and `mine` do not overlap. */
void sum_ints(int *all, const int *mine, size_t n);
void sum_longs(long *all, const long *mine, size_t n);
void sum_doubles(double *all, const double *mine, size_t n);
void max_doubles(double *all, const double *mine, size_t n);

#endif
