/* Breadth-first search. */
#ifndef SEARCH_H
#define SEARCH_H

#include <stdint.h>

#include "graph.h"
#include "options.h"

enum { NO_VERTEX = -1 };

typedef struct {
    const Graph *graph;
    Claim claim;
    int bottom_up;
    int *parent;    /* symmetric: of each local vertex, or NO_VERTEX */
    int *proposed;  /* symmetric: a parent that another PE has found */
    int *frontier;  /* symmetric: local vertices whose neighbours are looked at in this level */
    int *next;      /* symmetric: those of the next level */
    long *n_next;   /* symmetric: how many there are */
    uint64_t *bits; /* symmetric: the local vertices of the frontier */
    uint64_t *all_bits; /* symmetric: those of all PEs, one after the other */
    size_t words;   /* of `bits` */
    long n_frontier;
} Search;

/* Makes the symmetric memory of searches. */
void search_start(Search *search, const Graph *graph, const Options *options);

/* Finds the parent of each vertex that is reached from `root`, on a shortest path (kernel 2). The root is its
 * own parent. */
void search_run(Search *search, int root);

/* Bytes that each PE needs. */
size_t search_bytes(int scale, int pes);

#endif
