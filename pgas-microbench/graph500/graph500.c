/* Graph500's breadth-first search for OpenSHMEM.
 *
 *     oshrun -n PES graph500 [-s SCALE] [-e EDGEFACTOR] [--searches N] [--validate N]
 *                            [--claim set|swap] [--top-down]
 *
 * Written from the benchmark's specification (https://graph500.org). */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "graph.h"
#include "job.h"
#include "options.h"
#include "reduce.h"
#include "search.h"
#include "summary.h"
#include "validate.h"

static int threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Different vertices that have neighbours; as many as there are, at most. Returns their number. */
static int choose_roots(const Graph *graph, int *root, int wanted)
{
    int chosen = 0;
    for (int64_t draw = 0; chosen < wanted && draw < 64 * (int64_t)wanted + 1000; draw++) {
        int vertex = (int)generator_draw(draw, graph->vertices), known = 0;
        for (int i = 0; i < chosen; i++)
            known |= root[i] == vertex;
        if (!known && graph_degree(graph, vertex) > 0)
            root[chosen++] = vertex;
    }
    return chosen;
}

static double since(double begin)
{
    return max_double(seconds() - begin);
}

int main(int argc, char **argv)
{
#ifdef _OPENMP
    job_start_threads("graph500-threads");
#else
    job_start("graph500");
#endif
    Options options = options_read(argc, argv);
    int pes = shmem_n_pes();
    heap_needed(graph_bytes(options.scale, options.edgefactor, pes) + search_bytes(options.scale, pes)
                + validate_bytes(options.scale, pes));

    shmem_barrier_all();
    double begin = seconds();
    Graph graph;
    graph_generate(&graph, options.scale, options.edgefactor);
    double generation = since(begin);
    begin = seconds();
    graph_construct(&graph);
    double construction = since(begin);

    Search search;
    search_start(&search, &graph, &options);
    Validation validation;
    validate_start(&validation, &graph);
    int *root = calloc((size_t)options.searches, sizeof *root), wrong = 0;
    double *took = calloc((size_t)options.searches, sizeof *took);
    double *edges = calloc((size_t)options.searches, sizeof *edges);
    double *rate = calloc((size_t)options.searches, sizeof *rate);
    if (sum_long(!root || !took || !edges || !rate) > 0)
        refuse("no room for the results: give a smaller number of searches");
    int searches = choose_roots(&graph, root, options.searches);
    if (searches == 0)
        refuse("no vertex has neighbours: give a larger scale or edge factor");
    for (int i = 0; i < searches; i++) {
        shmem_barrier_all();
        begin = seconds();
        search_run(&search, root[i]);
        took[i] = since(begin);
        int64_t in_component = i < options.validated ? validate(&validation, &search, root[i])
                                                     : count_edges(&search);
        wrong += in_component < 0;
        edges[i] = (double)in_component;
        rate[i] = edges[i] / took[i];
    }

    if (shmem_my_pe() == 0) {
        printf("SCALE: %d\nedgefactor: %d\nNBFS: %d\nnum_pes: %d\nnum_threads: %d\n", options.scale,
               options.edgefactor, searches, pes, threads());
        printf("claim: %s\ndirection: %s\n", options.claim == CLAIM_SET ? "set" : "swap",
               options.bottom_up ? "both" : "top-down");
        printf("graph_generation: %.6g\nconstruction_time: %.6g\n", generation, construction);
        summary_print("time", took, searches);
        summary_print("nedge", edges, searches);
        summary_print_rates("TEPS", rate, searches);
        printf("validated: %d\nvalidation: %s\n", options.validated < searches ? options.validated : searches,
               wrong == 0 ? "SUCCESSFUL" : "UNSUCCESSFUL");
        fflush(stdout);
    }
    shmem_finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
