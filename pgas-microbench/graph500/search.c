/* Breadth-first search by one-sided operations, level by level.
 *
 * Top-down, the PE of a vertex in the frontier claims its neighbours at their owners. Bottom-up, every
 * vertex that is not reached looks for a neighbour in the frontier, of which all PEs have a bitmap, and
 * stops at the first. The direction changes by the rule of Beamer, Asanovic and Patterson,
 * "Direction-Optimizing Breadth-First Search" (2012). */
#include "search.h"

#include <shmem.h>
#include <string.h>

#include "job.h"
#include "reduce.h"

/* Beamer's alpha and beta. */
enum { TO_BOTTOM_UP = 14, TO_TOP_DOWN = 24 };

/* What all PEs know of a level, by one reduction. */
enum { VERTICES, DEGREES, FACTS };

/* The words of a bitmap of the local vertices of any PE. */
static size_t words_for(int room)
{
    return ((size_t)room + 63) / 64;
}

size_t search_bytes(int scale, int pes)
{
    size_t room = ((size_t)1 << scale) / (size_t)pes + 1;
    return room * 4 * sizeof(int) + (1 + (size_t)pes) * words_for((int)room) * sizeof(uint64_t);
}

void search_start(Search *search, const Graph *graph, const Options *options)
{
    size_t room = (size_t)graph->room, words = words_for(graph->room);
    *search = (Search){
        .graph = graph,
        .claim = options->claim,
        .bottom_up = options->bottom_up,
        .parent = symmetric(room * sizeof(int), "the parents"),
        .proposed = symmetric(room * sizeof(int), "proposed parents"),
        .frontier = symmetric(room * sizeof(int), "the frontier"),
        .next = symmetric(room * sizeof(int), "the next frontier"),
        .n_next = symmetric(sizeof(long), "the length of the next frontier"),
        .bits = symmetric(words * sizeof(uint64_t), "the bitmap of the frontier"),
        .all_bits = symmetric(words * sizeof(uint64_t) * (size_t)graph->deal.pes,
                              "the bitmap of all frontiers"),
        .words = words,
    };
}

/* Adds a local vertex to the next frontier; several threads may do so at once. */
static void reach(Search *search, int local, int parent)
{
    search->parent[local] = parent;
    search->next[__atomic_fetch_add(search->n_next, 1, __ATOMIC_RELAXED)] = local;
}

/* Whether a vertex need not be claimed. Between nodes, asking takes longer than claiming. */
static int is_reached(const Search *search, int local, int pe)
{
    const int *parent = shmem_ptr(search->parent, pe);
    return parent != NULL && __atomic_load_n(&parent[local], __ATOMIC_RELAXED) != NO_VERTEX;
}

static void claim(Search *search, int vertex, int parent)
{
    const Deal *deal = &search->graph->deal;
    int pe = owner_of(deal, vertex), local = local_of(deal, vertex);
    if (is_reached(search, local, pe))
        return;
    if (search->claim == CLAIM_SET) {
        shmem_int_atomic_set(&search->proposed[local], parent, pe);
    } else if (shmem_int_atomic_compare_swap(&search->parent[local], NO_VERTEX, parent, pe)
               == NO_VERTEX) {
        long at = shmem_long_atomic_fetch_inc(search->n_next, pe);
        shmem_int_p(&search->next[at], local, pe);
    }
}

/* The barrier separates proposals of this level from their reading; the reduction that ends the level
 * separates that from proposals of the next one. */
static void top_down(Search *search)
{
    const Graph *graph = search->graph;
#pragma omp parallel for schedule(dynamic, 64)
    for (long f = 0; f < search->n_frontier; f++) {
        int local = search->frontier[f], vertex = vertex_of(&graph->deal, local, graph->deal.me);
        for (long e = graph->begin[local]; e < graph->begin[local + 1]; e++)
            claim(search, graph->neighbour[e], vertex);
    }
    shmem_barrier_all();
    if (search->claim == CLAIM_SWAP)
        return;
#pragma omp parallel for schedule(static)
    for (int v = 0; v < graph->locals; v++)
        if (search->proposed[v] != NO_VERTEX && search->parent[v] == NO_VERTEX)
            reach(search, v, search->proposed[v]);
}

/* Gives all PEs the bitmap of all frontiers. */
static void share_frontier(Search *search)
{
    memset(search->bits, 0, search->words * sizeof(uint64_t));
    for (long f = 0; f < search->n_frontier; f++)
        search->bits[search->frontier[f] / 64] |= (uint64_t)1 << search->frontier[f] % 64;
    shmem_barrier_all();
    for (int i = 0; i < search->graph->deal.pes; i++) {
        /* Each begins with itself, so that not all read from one PE at a time. */
        int pe = (search->graph->deal.me + i) % search->graph->deal.pes;
        shmem_getmem(&search->all_bits[(size_t)pe * search->words], search->bits,
                     search->words * sizeof(uint64_t), pe);
    }
}

static int in_frontier(const Search *search, int vertex)
{
    const Deal *deal = &search->graph->deal;
    const uint64_t *bits = &search->all_bits[(size_t)owner_of(deal, vertex) * search->words];
    int local = local_of(deal, vertex);
    return bits[local / 64] >> local % 64 & 1;
}

static void bottom_up(Search *search)
{
    const Graph *graph = search->graph;
    share_frontier(search);
#pragma omp parallel for schedule(dynamic, 1024)
    for (int v = 0; v < graph->locals; v++) {
        if (search->parent[v] != NO_VERTEX)
            continue;
        for (long e = graph->begin[v]; e < graph->begin[v + 1]; e++) {
            if (in_frontier(search, graph->neighbour[e])) {
                reach(search, v, graph->neighbour[e]);
                break;
            }
        }
    }
}

/* Makes the vertices that were reached the frontier; all PEs learn its size and the sum of its degrees. */
static void advance(Search *search, long facts[FACTS])
{
    static long mine[FACTS], all[FACTS];
    int *reached = search->next;
    search->next = search->frontier;
    search->frontier = reached;
    search->n_frontier = *search->n_next;
    *search->n_next = 0;
    mine[VERTICES] = search->n_frontier;
    mine[DEGREES] = 0;
    const long *begin = search->graph->begin;
    for (long f = 0; f < search->n_frontier; f++)
        mine[DEGREES] += begin[reached[f] + 1] - begin[reached[f]];
    sum_longs(all, mine, FACTS);
    memcpy(facts, all, sizeof all);
    shmem_barrier_all(); /* `all` has been read before the next level writes it */
}

void search_run(Search *search, int root)
{
    const Graph *graph = search->graph;
    memset(search->parent, 0xff, (size_t)graph->locals * sizeof(int));
    memset(search->proposed, 0xff, (size_t)graph->locals * sizeof(int));
    *search->n_next = 0;
    if (owner_of(&graph->deal, root) == graph->deal.me)
        reach(search, local_of(&graph->deal, root), root);
    long facts[FACTS], unexplored = 2 * graph->edges;
    advance(search, facts);
    for (int upwards = 0; facts[VERTICES] > 0;) {
        unexplored -= facts[DEGREES];
        if (upwards)
            upwards = facts[VERTICES] > graph->vertices / TO_TOP_DOWN;
        else
            upwards = search->bottom_up && facts[DEGREES] > unexplored / TO_BOTTOM_UP;
        if (upwards)
            bottom_up(search);
        else
            top_down(search);
        advance(search, facts);
    }
}
