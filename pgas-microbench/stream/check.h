/* The results check of STREAM. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>

#include "workers.h"

/* Values the arrays begin with. */
void check_fill(Arrays arrays, size_t n);

/* The largest, over the three arrays, of the average error relative to what each element must be
 * after `repetitions` of the four kernels. */
double check_error(Arrays arrays, size_t n, int repetitions);

/* The error up to which a solution is valid, as STREAM has it for 8-byte numbers. */
#define CHECK_BOUND 1e-13

#endif
