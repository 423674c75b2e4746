/* The functions that each implementation defines to be measured. */
#ifndef IMPLEMENTATION_H
#define IMPLEMENTATION_H

#include <stddef.h>

enum { LARGEST = 8 << 20 }; /* bytes of the largest array that is reduced */

/* The elements of dest after an operation: the index of an element times a weight. */
enum result {
    NOTHING,      /* no data */
    SUM,          /* of all PEs' sources */
    PREFIX_SUM,   /* of the sources of PEs 0 to this one */
    COPY_OF_ROOT, /* the source of PE 0; the dest of PE 0 is not checked */
    ALL_SOURCES,  /* one after the other */
    ALL_BLOCKS,   /* each PE's block for this one */
    COPY_OF_PEER, /* of 2 PEs, the other one's source */
    GATHERED,     /* on PE 0 all sources, one after the other */
    SCATTERED,    /* this PE's block of the source of PE 0 */
    SUM_AT_ROOT,  /* on PE 0 the sum of all sources */
    SUM_OF_BLOCK, /* the sum of all PEs' blocks for this one */
    NEIGHBORS,    /* a block of each of `around` */
    TWO_HALVES,   /* of 2 PEs, in any order, the first half of the own source and the second of the other PE's */
};

/* An operation; `n` is a number of doubles: all, or of one block. */
struct operation {
    const char *name;
    void (*call)(size_t n);
    enum result result;
    int in_place; /* takes its operands from dest */
};

/* The operations that every library has, by functions of these names. */
#define OPERATIONS_OF_ALL \
    {"barrier", barrier, NOTHING, 0}, \
    {"sum", sum, SUM, 0}, \
    {"sum_in_place", sum_in_place, SUM, 1}, \
    {"broadcast", broadcast, COPY_OF_ROOT, 0}, \
    {"fcollect", fcollect, ALL_SOURCES, 0}, \
    {"collect", collect, ALL_SOURCES, 0}, \
    {"alltoall", alltoall, ALL_BLOCKS, 0}

/* Those of MPI, by functions of these names. */
#define ROOTED \
    {"gather", gather, GATHERED, 0}, \
    {"scatter", scatter, SCATTERED, 0}, \
    {"reduce", reduce, SUM_AT_ROOT, 0}, \
    {"reduce_scatter", reduce_scatter, SUM_OF_BLOCK, 0}

/* Transfers between 2 PEs, by functions of these names. PE 0 puts, both put with signal in turn, and both
 * exchange as ISx does: a PE keeps half of its keys, and the other half goes to the other PE. */
#define TRANSFERS_OF_ALL \
    {"put", put, COPY_OF_ROOT, 0}, \
    {"put_signal", put_signal, COPY_OF_PEER, 0}, \
    {"isx", isx, TWO_HALVES, 0}

static int me, pes;
/* This program, for operations that start it once more. */
static char *program;
static double *source, *dest;
/* The PEs around this one: 2 on a ring, or 4 on a torus of two columns, before and after it in each dimension. */
static int around[4], sides;

static void look_around(void)
{
    const int columns = pes < 4 ? 1 : 2, rows = pes / columns, row = me / columns, column = me % columns;
    sides = 2 * columns;
    around[0] = (row + rows - 1) % rows * columns + column;
    around[1] = (row + 1) % rows * columns + column;
    around[2] = around[3] = row * columns + 1 - column;
}

/* What a program does between exchanges: it reads each line that has come, and writes each that is sent. */
static void compute(const double *blocks, size_t n)
{
    static volatile double used;
    for (size_t i = 0; i < n * (size_t)sides; i += 8) {
        used = blocks[i];
        ((volatile double *)source)[i] = source[i];
    }
}

/* Initialises the library and sets `me` and `pes`. In a process that "spawn" has started, it does what that
 * operation expects of it, and ends the process. */
static void begin(int *argc, char ***argv);

/* Memory that operations can use, the same on every PE. */
static void *memory(size_t bytes);

static void end(void);

#endif
