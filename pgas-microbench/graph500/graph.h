/* A graph whose vertices are dealt out to the PEs. */
#ifndef GRAPH_H
#define GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "generator.h"

/* Vertex v belongs to PE v mod P, which knows it as v / P. */
typedef struct {
    int pes, me;
    int shift; /* log2 of P if P is a power of two, else -1: divisions take as long as a put */
} Deal;

static inline int owner_of(const Deal *deal, int vertex)
{
    return deal->shift >= 0 ? vertex & (deal->pes - 1) : vertex % deal->pes;
}

static inline int local_of(const Deal *deal, int vertex)
{
    return deal->shift >= 0 ? vertex >> deal->shift : vertex / deal->pes;
}

static inline int vertex_of(const Deal *deal, int local, int pe)
{
    return local * deal->pes + pe;
}

typedef struct {
    Deal deal;
    int vertices;        /* of the graph */
    int locals;          /* of this PE */
    int room;            /* vertices of the PE that has the most: length of symmetric arrays */
    int64_t edges;       /* of the graph */
    int64_t local_edges; /* of the list that this PE has generated */
    Edge *list;          /* private: those edges */
    long *begin;         /* symmetric: the neighbours of a local vertex begin here; locals + 1 entries */
    int *neighbour;      /* symmetric */
} Graph;

/* Generates this PE's share of the list of edges (kernel 0). */
void graph_generate(Graph *graph, int scale, int edgefactor);

/* Makes the lists of neighbours of the lists of edges (kernel 1). Loops are left out. */
void graph_construct(Graph *graph);

/* The number of neighbours of any vertex. */
long graph_degree(const Graph *graph, int vertex);

/* Bytes that each PE needs. */
size_t graph_bytes(int scale, int edgefactor, int pes);

#endif
