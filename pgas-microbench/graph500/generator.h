/* Kronecker graphs of the Graph500 benchmark. */
#ifndef GENERATOR_H
#define GENERATOR_H

#include <stdint.h>

typedef struct {
    int from, to; /* vertices */
} Edge;

/* The edge of this number in the graph of 2^scale vertices: the same on every PE and for every number
 * of PEs. */
Edge generator_edge(int scale, int64_t number);

/* A random number from 0 to n - 1, the same for the same `draw`, for the choice of roots. */
int64_t generator_draw(int64_t draw, int64_t n);

#endif
