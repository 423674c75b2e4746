/* The results check of STREAM: all elements of an array have the same value, which the kernels are
 * repeated for on one element. */
#include "check.h"

#include <math.h>

#include "kernels.h"

static const double first_a = 1, first_b = 2, first_c = 0;

void check_fill(Arrays arrays, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        arrays.a[i] = first_a;
        arrays.b[i] = first_b;
        arrays.c[i] = first_c;
    }
}

static double average_error(const double *array, size_t n, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(array[i] - expected);
    return sum / (double)n / fabs(expected);
}

double check_error(Arrays arrays, size_t n, int repetitions)
{
    double a = first_a, b = first_b, c = first_c;
    for (int r = 0; r < repetitions; r++) {
        c = a;
        b = SCALAR * c;
        c = a + b;
        a = b + SCALAR * c;
    }
    double error = average_error(arrays.a, n, a);
    error = fmax(error, average_error(arrays.b, n, b));
    return fmax(error, average_error(arrays.c, n, c));
}
