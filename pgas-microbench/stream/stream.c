/* STREAM, the memory bandwidth benchmark, for OpenSHMEM and for OpenMP.
 *
 *     oshrun -n PES stream-local [-n ELEMENTS] [--cap MIB] [--reduce-every REPETITIONS]
 *
 * Written from STREAM's description and run rules (https://www.cs.virginia.edu/stream/ref.html).
 * The reduction over all PEs after every N-th repetition is that of Namashivayam et al.,
 * "Native Mode-Based Optimizations of Remote Memory Accesses in OpenSHMEM for Intel Xeon Phi". */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "kernels.h"
#include "options.h"
#include "sources.h"
#include "table.h"
#include "workers.h"

static Options options;
static int status = EXIT_SUCCESS; /* the same on all PEs and threads */

static Operands operands(Kernel kernel, Arrays arrays)
{
    switch (kernel) {
    case COPY: return (Operands){arrays.c, arrays.a, arrays.a};
    case SCALE: return (Operands){arrays.b, arrays.c, arrays.c};
    case ADD: return (Operands){arrays.c, arrays.a, arrays.b};
    default: return (Operands){arrays.a, arrays.b, arrays.c};
    }
}

/* Seconds from a barrier to the barrier after the work. */
static double timed(Kernel kernel, Arrays mine, size_t n)
{
    workers_barrier();
    double begin = workers_clock();
    sources_run(kernel, operands(kernel, mine), n);
    workers_barrier();
    return workers_clock() - begin;
}

/* Sums the first elements of `a` over all workers, whose elements are all the same. */
static double timed_reduction(Arrays mine, size_t n, double *error)
{
    workers_barrier();
    double begin = workers_clock();
    double sum = workers_sum(mine.a, n);
    double took = workers_clock() - begin, expected = mine.a[0] * workers();
    double relative = (sum > expected ? sum - expected : expected - sum) / expected;
    *error = relative > *error ? relative : *error;
    return took;
}

static void measure(Arrays mine, size_t n)
{
    Times times = {0};
    double error = 0;
    check_fill(mine, n);
    for (int r = 0; r < REPETITIONS; r++) {
        for (Kernel k = COPY; k < KERNELS; k++)
            times.kernel[k][r] = timed(k, mine, n);
        if (options.reduce_every > 0 && (r + 1) % options.reduce_every == 0)
            times.reduction[r] = timed_reduction(mine, n, &error);
    }
    for (Kernel k = COPY; k < KERNELS; k++)
        workers_max(times.kernel[k], REPETITIONS);
    workers_max(times.reduction, REPETITIONS);
    double error_of_arrays = check_error(mine, n, REPETITIONS);
    error = error_of_arrays > error ? error_of_arrays : error;
    workers_max(&error, 1);
    if (worker() != 0)
        return;
    table_print(&times, &options);
    if (error < CHECK_BOUND)
        printf("Solution Validates: average errors below %g\n", CHECK_BOUND);
    else
        printf("Solution Does Not Validate: an average error of %g, not below %g\n", error,
               CHECK_BOUND);
    fflush(stdout);
    status = error < CHECK_BOUND ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    workers_start("stream");
    options = options_read(argc, argv);
    Arrays arrays = workers_arrays(options.elements);
    if (worker() == 0)
        table_print_sizes(sources_name, &options);
    workers_run(measure, arrays, options.elements);
    return workers_end(status);
}
