/* Graphs of neighbours: random lists of edges and grids over any team, and some rounds of an exchange. */
#ifndef FUZZ_NEIGHBORS_H
#define FUZZ_NEIGHBORS_H

#include "draw.h"

enum { MOST_ENTRIES = 16, MOST_BLOCK = 9000, MOST_EDGES = MOST_PES * 6 };

/* An edge: its ends, and its places in the dests of the one and in the sources of the other. */
struct edge {
    int from, to, dest, source;
    size_t bytes;
};

struct graph {
    struct edge edges[MOST_EDGES];
    int count, ndims, dims[3], periods[3];
};

static void add_edge(struct graph *g, struct rng *rng, int from, int dest, int to, int source)
{
    static const int bytes[] = {0, 1, 8, 56, 57, 300, 4096, 8192, 8193, MOST_BLOCK};
    g->edges[g->count++] = (struct edge){from, to, dest, source, (size_t)bytes[below(rng, 10)]};
}

/* A grid of one to three dimensions, by coordinates. */
static void draw_grid(struct rng *rng, struct graph *g, int size)
{
    int left = size;
    g->ndims = between(rng, 1, 3);
    for (int d = 0; d < g->ndims; d++) {
        int dim = d == g->ndims - 1 ? left : between(rng, 1, left);
        while (left % dim != 0)
            dim--;
        g->dims[d] = dim;
        left /= dim;
        g->periods[d] = below(rng, 2);
    }
    for (int from = 0; from < size; from++)
        for (int d = 0, step = size; d < g->ndims; d++) {
            step /= g->dims[d];
            int at = from / step % g->dims[d];
            for (int side = 0; side < 2; side++) {
                int there = at + 2 * side - 1, wrapped = (there + g->dims[d]) % g->dims[d];
                if (there == wrapped || g->periods[d])
                    add_edge(g, rng, from, 2 * d + side, from + (wrapped - at) * step, 2 * d + 1 - side);
            }
        }
}

/* Edges between any members, there and mostly back. */
static void draw_lists(struct rng *rng, struct graph *g, int size)
{
    int dests[MOST_PES] = {0}, sources[MOST_PES] = {0}, edges = below(rng, 3 * size);
    int back = !once_in(rng, 4);
    g->ndims = 0;
    while (edges-- > 0) {
        int a = below(rng, size), b = below(rng, size);
        if (dests[a] >= MOST_ENTRIES - 3 || sources[a] >= MOST_ENTRIES - 3 || dests[b] >= MOST_ENTRIES - 3
            || sources[b] >= MOST_ENTRIES - 3)
            continue;
        /* A place that is for no PE. */
        dests[a] += once_in(rng, 6);
        add_edge(g, rng, a, dests[a]++, b, sources[b]++);
        if (back)
            add_edge(g, rng, b, dests[b]++, a, sources[a]++);
    }
}

static unsigned char edge_byte(const struct edge *e, int round, size_t i)
{
    return (unsigned char)mix((uint64_t)e->from << 40 | (uint64_t)e->dest << 32 | (uint64_t)round << 24 | i);
}

/* Blocks that are strided where their length allows it, with a gap behind each. */
static shmemx_blocks_t block_in(unsigned char *array, int place, size_t bytes, int strides)
{
    size_t count = strides && bytes % 8 == 0 && bytes > 0 ? 8 : 1;
    return (shmemx_blocks_t){array + (size_t)place * (MOST_BLOCK + 64), bytes / count, count, bytes / count + 8};
}

static unsigned char *byte_in(const shmemx_blocks_t *b, size_t i)
{
    return (unsigned char *)b->addr + i / b->nbytes * b->stride + i % b->nbytes;
}

static void use_graph(struct rng *rng, int number)
{
    static struct graph g;
    const struct team *t = &teams[draw_team(rng)];
    int rounds = between(rng, 1, 4), way = below(rng, 3), strides = below(rng, 4), wait = below(rng, 2000);
    g.count = 0;
    (once_in(rng, 2) ? draw_grid : draw_lists)(rng, &g, t->size);
    size_t room = (size_t)MOST_ENTRIES * (MOST_BLOCK + 64), same = once_in(rng, 3) ? (size_t)below(rng, MOST_BLOCK) : 0;
    unsigned char *dest = F(shmem_malloc)(room), *source = F(shmem_malloc)(room);
    if (dest == NULL || source == NULL)
        differs(number, "no room for the arrays of a graph");
    int rank = t->rank[me], sources[MOST_ENTRIES], dests[MOST_ENTRIES], nsources = 2 * g.ndims, ndests = 2 * g.ndims;
    shmemx_blocks_t to[MOST_ENTRIES], from[MOST_ENTRIES];
    for (int i = 0; i < MOST_ENTRIES; i++) {
        sources[i] = dests[i] = -1;
        to[i] = from[i] = (shmemx_blocks_t){NULL, 1, 1, 1};
    }
    for (int i = 0; i < g.count; i++) {
        struct edge *e = &g.edges[i];
        if (same)
            e->bytes = same;
        if (e->to == rank) {
            sources[e->source] = e->from;
            to[e->source] = block_in(dest, e->source, e->bytes, strides & 1);
            nsources = e->source >= nsources ? e->source + 1 : nsources;
        }
        if (e->from == rank) {
            dests[e->dest] = e->to;
            from[e->dest] = block_in(source, e->dest, e->bytes, strides & 2);
            ndests = e->dest >= ndests ? e->dest + 1 : ndests;
        }
    }
    if (same)
        for (int i = 0; i < MOST_ENTRIES; i++) {
            to[i] = (shmemx_blocks_t){dest + (size_t)i * same, same, 1, same};
            from[i] = (shmemx_blocks_t){source + (size_t)i * same, same, 1, same};
        }
    if (rank >= 0) {
        shmemx_graph_t graph;
        shmemx_req_h request;
        int found[2][MOST_ENTRIES];
        int rc = g.ndims ? F(shmemx_cart_create)(t->handle, g.ndims, g.dims, g.periods, &graph)
                         : F(shmemx_graph_create)(t->handle, nsources, sources, ndests, dests, &graph);
        expect_that(rc == 0, "shmemx_graph_create", number);
        F(shmemx_graph_neighbors)(graph, found[0], found[1]);
        expect_that(memcmp(found[0], sources, (size_t)nsources * sizeof(int)) == 0
                        && memcmp(found[1], dests, (size_t)ndests * sizeof(int)) == 0,
                    "shmemx_graph_neighbors", number);
        rc = same ? F(shmemx_neighbor_alltoallmem_init)(graph, dest, source, same, &request)
                  : F(shmemx_neighbor_alltoallw_init)(graph, to, from, &request);
        expect_that(rc == 0, "shmemx_neighbor_alltoall_init", number);
        for (int round = 0; round < rounds; round++) {
            memset(dest, 0xee, room);
            for (int i = 0; i < g.count; i++)
                for (size_t k = 0; g.edges[i].from == rank && k < g.edges[i].bytes; k++)
                    *byte_in(&from[g.edges[i].dest], k) = edge_byte(&g.edges[i], round, k);
            if ((rank + round) % 3 == 0)
                pause_for(wait);
            F(shmemx_req_start)(&request);
            if (way == 0)
                F(shmemx_req_wait)(&request);
            while (way == 1 && F(shmemx_req_test)(&request) != 0)
                ;
            if (way == 2)
                F(shmemx_req_waitany)(1, &request);
            memset(source, 0xdd, room);
            size_t arrived = 0, untouched = 0;
            for (int i = 0; i < g.count; i++)
                for (size_t k = 0; g.edges[i].to == rank && k < g.edges[i].bytes; k++, arrived++)
                    if (*byte_in(&to[g.edges[i].source], k) != edge_byte(&g.edges[i], round, k))
                        differs(number, "round %d of a graph: byte %zu of %zu from member %d differs", round, k,
                                g.edges[i].bytes, g.edges[i].from);
                    else
                        *byte_in(&to[g.edges[i].source], k) = 0;
            for (size_t k = 0; k < room; k++)
                untouched += dest[k] == 0xee;
            expect_that(untouched + arrived == room, "a graph changes what is between its blocks", number);
        }
        F(shmemx_req_free)(&request);
        F(shmemx_graph_destroy)(graph);
    }
    F(shmem_free)(source);
    F(shmem_free)(dest);
}

#endif
