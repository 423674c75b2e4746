/* Construction of the graph by one-sided operations: each PE counts and stores the ends of its edges in the
 * memory of the PEs that own them. */
#include "graph.h"

#include <shmem.h>
#include <stdlib.h>

#include "job.h"
#include "reduce.h"

static Deal deal_to(int pes, int me)
{
    Deal deal = {pes, me, -1};
    if ((pes & (pes - 1)) == 0)
        deal.shift = __builtin_ctz((unsigned)pes);
    return deal;
}

size_t graph_bytes(int scale, int edgefactor, int pes)
{
    size_t vertices = ((size_t)1 << scale) / (size_t)pes + 1;
    /* Neighbours are dealt out unevenly: twice the average. */
    return vertices * (2 * sizeof(long) + 2 * 2 * (size_t)edgefactor * sizeof(int));
}

void graph_generate(Graph *graph, int scale, int edgefactor)
{
    Deal deal = deal_to(shmem_n_pes(), shmem_my_pe());
    int64_t edges = (int64_t)edgefactor << scale;
    int64_t first = edges / deal.pes * deal.me, end = first + edges / deal.pes;
    if (deal.me == deal.pes - 1)
        end = edges;
    int vertices = 1 << scale;
    *graph = (Graph){
        .deal = deal,
        .vertices = vertices,
        .locals = vertices / deal.pes + (deal.me < vertices % deal.pes),
        .room = vertices / deal.pes + 1,
        .edges = edges,
        .local_edges = end - first,
        .list = malloc((size_t)(end - first + 1) * sizeof(Edge)),
    };
    if (sum_long(graph->list == NULL) > 0)
        refuse("no room for the list of edges: give a smaller scale");
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < end - first; e++)
        graph->list[e] = generator_edge(scale, first + e);
}

/* Counts both ends of this PE's edges at their owners. */
static void count_neighbours(const Graph *graph, long *count)
{
    const Deal *deal = &graph->deal;
    for (int64_t e = 0; e < graph->local_edges; e++) {
        Edge edge = graph->list[e];
        if (edge.from == edge.to)
            continue;
        shmem_long_atomic_inc(&count[local_of(deal, edge.from)], owner_of(deal, edge.from));
        shmem_long_atomic_inc(&count[local_of(deal, edge.to)], owner_of(deal, edge.to));
    }
    shmem_barrier_all();
}

static void add_neighbour(const Graph *graph, long *next, int vertex, int neighbour)
{
    int pe = owner_of(&graph->deal, vertex);
    long at = shmem_long_atomic_fetch_inc(&next[local_of(&graph->deal, vertex)], pe);
    shmem_int_p(&graph->neighbour[at], neighbour, pe);
}

void graph_construct(Graph *graph)
{
    size_t room = (size_t)graph->room;
    long *next = symmetric(room * sizeof(long), "the numbers of neighbours");
    graph->begin = symmetric((room + 1) * sizeof(long), "the lists of neighbours");
    shmem_barrier_all();
    count_neighbours(graph, next);

    long total = 0;
    for (int v = 0; v < graph->locals; v++) {
        graph->begin[v] = total;
        total += next[v];
        next[v] = graph->begin[v];
    }
    graph->begin[graph->locals] = total;
    long most = (long)max_double((double)total);
    graph->neighbour = symmetric((size_t)most * sizeof(int), "the neighbours");
    shmem_barrier_all();
    for (int64_t e = 0; e < graph->local_edges; e++) {
        Edge edge = graph->list[e];
        if (edge.from == edge.to)
            continue;
        add_neighbour(graph, next, edge.from, edge.to);
        add_neighbour(graph, next, edge.to, edge.from);
    }
    shmem_barrier_all();
    shmem_free(next);
}

long graph_degree(const Graph *graph, int vertex)
{
    int pe = owner_of(&graph->deal, vertex), local = local_of(&graph->deal, vertex);
    return shmem_long_g(&graph->begin[local + 1], pe) - shmem_long_g(&graph->begin[local], pe);
}
