/* Validation of a search. */
#ifndef VALIDATE_H
#define VALIDATE_H

#include <stdint.h>

#include "search.h"

typedef struct {
    long *level;  /* symmetric: of each local vertex, or NO_VERTEX */
    char *joined; /* symmetric: whether an edge of the list joins a vertex with its parent */
} Validation;

void validate_start(Validation *validation, const Graph *graph);

/* The number of edges of the list in the component of `root`; or -1 if the parents are no breadth-first tree,
 * and PE 0 has printed why. */
int64_t validate(Validation *validation, const Search *search, int root);

/* The same number of edges without validation. */
int64_t count_edges(const Search *search);

/* Bytes that each PE needs. */
size_t validate_bytes(int scale, int pes);

#endif
