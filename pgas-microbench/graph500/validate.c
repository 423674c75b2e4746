/* Validation of a search by the five rules of the Graph500 specification: the parents form a tree without cycles,
 * each joins levels that differ by one, every edge of the list joins levels that differ by one at most or has both
 * ends outside of the tree, the tree spans the component of its root, and each vertex and its parent are joined by an
 * edge of the list. Levels are computed from the parents alone. */
#include "validate.h"

#include <shmem.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "reduce.h"

size_t validate_bytes(int scale, int pes)
{
    return (((size_t)1 << scale) / (size_t)pes + 1) * (sizeof(long) + 1);
}

void validate_start(Validation *validation, const Graph *graph)
{
    validation->level = symmetric((size_t)graph->room * sizeof(long), "the levels");
    validation->joined = symmetric((size_t)graph->room, "the marks of vertices");
}

/* True on all PEs if a rule is broken on one; PE 0 says which. */
static int is_broken(long here, int root, const char *rule)
{
    long vertices = sum_long(here);
    if (vertices > 0 && shmem_my_pe() == 0)
        printf("search from %d: %s: %ld\n", root, rule, vertices);
    return vertices > 0;
}

static long level_of(const Validation *validation, const Deal *deal, int vertex)
{
    return shmem_long_g(&validation->level[local_of(deal, vertex)], owner_of(deal, vertex));
}

/* Gives levels to vertices whose parents have one, until no vertex gains one. */
static void compute_levels(Validation *validation, const Search *search, int root)
{
    const Graph *graph = search->graph;
    const Deal *deal = &graph->deal;
    for (int v = 0; v < graph->locals; v++)
        validation->level[v] = NO_VERTEX;
    if (owner_of(deal, root) == deal->me && search->parent[local_of(deal, root)] == root)
        validation->level[local_of(deal, root)] = 0;
    long gained, depth = 0;
    do {
        shmem_barrier_all();
        gained = 0;
        for (int v = 0; v < graph->locals; v++) {
            int parent = search->parent[v];
            if (validation->level[v] != NO_VERTEX || parent < 0 || parent >= graph->vertices)
                continue;
            /* Levels that this round gives are larger, whether they are there already or not. */
            if (level_of(validation, deal, parent) == depth) {
                validation->level[v] = depth + 1;
                gained++;
            }
        }
        depth++;
    } while (sum_long(gained) > 0);
}

/* Looks through the list of edges: marks vertices that an edge joins with their parents, counts edges whose levels do
 * not fit, and those of the component. */
static long check_edges(Validation *validation, const Search *search, int64_t *component)
{
    const Graph *graph = search->graph;
    const Deal *deal = &graph->deal;
    long broken = 0;
    *component = 0;
    for (int64_t e = 0; e < graph->local_edges; e++) {
        int ends[2] = {graph->list[e].from, graph->list[e].to};
        long levels[2];
        for (int i = 0; i < 2; i++) {
            int pe = owner_of(deal, ends[i]), local = local_of(deal, ends[i]);
            levels[i] = shmem_long_g(&validation->level[local], pe);
            if (ends[0] != ends[1] && shmem_int_g(&search->parent[local], pe) == ends[1 - i])
                shmem_char_p(&validation->joined[local], 1, pe);
        }
        int in_tree = (levels[0] != NO_VERTEX) + (levels[1] != NO_VERTEX);
        long apart = levels[0] - levels[1];
        broken += in_tree == 1 || (in_tree == 2 && (apart > 1 || apart < -1));
        *component += in_tree == 2;
    }
    shmem_barrier_all();
    return broken;
}

int64_t validate(Validation *validation, const Search *search, int root)
{
    const Graph *graph = search->graph;
    memset(validation->joined, 0, (size_t)graph->locals);
    compute_levels(validation, search, root);
    int64_t component;
    long broken = check_edges(validation, search, &component), lost = 0, apart = 0;
    for (int v = 0; v < graph->locals; v++) {
        int is_root = vertex_of(&graph->deal, v, graph->deal.me) == root;
        lost += search->parent[v] != NO_VERTEX && validation->level[v] == NO_VERTEX;
        apart += validation->level[v] > 0 && !validation->joined[v] && !is_root;
    }
    int wrong = is_broken(lost, root, "vertices with a parent from which no path leads to the root");
    wrong |= is_broken(broken, root, "edges whose ends are more than a level apart, or only one in the tree");
    wrong |= is_broken(apart, root, "vertices that no edge joins with their parents");
    int64_t edges = sum_long(component);
    return wrong ? -1 : edges;
}

int64_t count_edges(const Search *search)
{
    const Graph *graph = search->graph;
    long edges = 0;
    for (int64_t e = 0; e < graph->local_edges; e++) {
        int from = graph->list[e].from;
        int parent = shmem_int_g(&search->parent[local_of(&graph->deal, from)],
                                 owner_of(&graph->deal, from));
        edges += parent != NO_VERTEX;
    }
    return sum_long(edges);
}
