/* The results check of STREAM. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>

#include "workers.h"

/* Initial values of the arrays. */
void check_fill(Arrays arrays, size_t n);

/* The largest average error of the three arrays, relative to the correct value of each element
 * after `repetitions` of the four kernels. */
double check_error(Arrays arrays, size_t n, int repetitions);

/* The largest error of a valid solution, by the rules of STREAM for 8-byte numbers. */
#define CHECK_BOUND 1e-13

#endif
