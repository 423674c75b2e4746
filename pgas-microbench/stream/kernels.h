/* The four kernels of STREAM, compiled once for all programs. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stddef.h>

typedef enum { COPY, SCALE, ADD, TRIAD, KERNELS } Kernel;

#define SCALAR 3.0

/* The arrays that a kernel writes and reads: copy and scale read x only. */
typedef struct {
    double *restrict to;
    const double *restrict x, *restrict y;
} Operands;

extern const char *const kernel_name[KERNELS];
/* Number of arrays that it reads and writes; write-allocate traffic is not counted, as in
 * STREAM. */
extern const int kernel_arrays[KERNELS];

void kernel_run(Kernel kernel, Operands o, size_t n);

#endif
