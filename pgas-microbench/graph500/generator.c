/* Kronecker graphs of the Graph500 benchmark.
 *
 * Written from the benchmark's specification (https://graph500.org, "Graph 500 Benchmark 1"), kernel 0: an
 * edge descends `scale` levels of the adjacency matrix and takes at each a quadrant with the
 * probabilities A, B, C and 1 - A - B - C. Where the specification shuffles the edges, nothing is to be
 * done: random numbers are functions of the edge's number, so edges are independent of each other. The
 * numbers of vertices are mapped one to one to others, since the recursion makes small ones the busiest. */
#include "generator.h"

/* Probabilities of the quadrants, in units of 2^-32. */
#define UNIT 4294967296.0
static const uint32_t lower = (uint32_t)(0.76 * UNIT);            /* A + B: the edge begins in the upper half */
static const uint32_t right_of_upper = (uint32_t)(0.57 / 0.76 * UNIT); /* A / (A + B) */
static const uint32_t right_of_lower = (uint32_t)(0.19 / 0.24 * UNIT); /* C / (1 - A - B) */

enum { MOST_LEVELS = 64 };

/* The output function of SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* A permutation of the numbers below 2^scale: multiplications by odd numbers and shifted
 * exclusive-ors, each of which can be undone. */
static int scramble(uint32_t vertex, int scale)
{
    uint64_t mask = ((uint64_t)1 << scale) - 1, x = vertex;
    int shift = scale / 2 + 1;
    for (int round = 0; round < 3; round++) {
        x = (x * 0x9e3779b97f4a7c15 + 0x2545f491) & mask;
        x ^= x >> shift;
    }
    return (int)x;
}

Edge generator_edge(int scale, int64_t number)
{
    uint32_t from = 0, to = 0;
    for (int level = 0; level < scale; level++) {
        uint64_t random = mix((uint64_t)number * MOST_LEVELS + (uint64_t)level);
        uint32_t down = (uint32_t)(random >> 32) >= lower;
        uint32_t across = (uint32_t)random >= (down ? right_of_lower : right_of_upper);
        from = from << 1 | down;
        to = to << 1 | across;
    }
    return (Edge){scramble(from, scale), scramble(to, scale)};
}

int64_t generator_draw(int64_t draw, int64_t n)
{
    return (int64_t)(mix(~(uint64_t)draw) % (uint64_t)n);
}
