/* An implementation of one PE whose sums are wrong. */
#include "implementation.h"
#include <stdlib.h>

static void barrier(size_t n) { (void)n; }
static void sum(size_t n) { dest[0] = source[n - 1] + 1; }

static const struct operation operations[] = {
    {"sum", sum, SUM, 0},
    {NULL, NULL, NOTHING, 0},
};

static void begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    pes = 1;
}

static void *memory(size_t bytes) { return malloc(bytes); }
static void end(void) {}
