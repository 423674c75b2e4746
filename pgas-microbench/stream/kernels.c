/* The four kernels of STREAM, as described at https://www.cs.virginia.edu/stream/ref.html. */
#include "kernels.h"

const char *const kernel_name[KERNELS] = {"Copy", "Scale", "Add", "Triad"};
const int kernel_arrays[KERNELS] = {2, 2, 3, 3};

static void copy(double *restrict to, const double *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i];
}

static void scale(double *restrict to, const double *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = SCALAR * x[i];
}

static void add(double *restrict to, const double *restrict x, const double *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] + y[i];
}

static void triad(double *restrict to, const double *restrict x, const double *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] + SCALAR * y[i];
}

void kernel_run(Kernel kernel, Operands o, size_t n)
{
    switch (kernel) {
    case COPY: copy(o.to, o.x, n); break;
    case SCALE: scale(o.to, o.x, n); break;
    case ADD: add(o.to, o.x, o.y, n); break;
    default: triad(o.to, o.x, o.y, n); break;
    }
}
