/* The output of STREAM. */
#include "table.h"

#include <stdio.h>
#include <string.h>

#include "workers.h"

typedef struct {
    double least, most, mean;
    int count;
} Summary;

/* Statistics of all repetitions but the first. */
static Summary summary(const double seconds[REPETITIONS])
{
    Summary s = {0};
    for (int r = 1; r < REPETITIONS; r++) {
        if (seconds[r] <= 0)
            continue;
        s.least = s.count == 0 || seconds[r] < s.least ? seconds[r] : s.least;
        s.most = seconds[r] > s.most ? seconds[r] : s.most;
        s.mean += seconds[r];
        s.count++;
    }
    s.mean /= s.count > 0 ? s.count : 1;
    return s;
}

static double mib(size_t elements)
{
    return (double)(elements * sizeof(double)) / (1 << 20);
}

void table_print_sizes(const char *sources, const Options *options)
{
    size_t total = options->elements * (size_t)workers();
    printf("STREAM on %d %ss, %s\n", workers(), worker_noun, sources);
    printf("Each array: %zu elements, %.1f MiB; %zu elements on each %s\n", total, mib(total),
           options->elements, worker_noun);
    if (options->cache > 0)
        printf("Last-level cache: %.1f MiB\n", mib(options->cache / sizeof(double)));
    else
        printf("Last-level cache: unknown\n");
    if (!options_follow_rule(options))
        printf("Note: arrays of less than 4 times the last-level cache (%.1f MiB): the rates may be "
               "those of caches\n", 4 * mib(options_cache(options) / sizeof(double)));
    fflush(stdout);
}

void table_print(const Times *times, const Options *options)
{
    double array = 1e-6 * (double)(options->elements * sizeof(double)) * workers(); /* MB */
    printf("Function    Best Rate MB/s  Avg time     Min time     Max time\n");
    for (Kernel k = COPY; k < KERNELS; k++) {
        Summary s = summary(times->kernel[k]);
        printf("%s:%*s%12.1f  %11.6f  %11.6f  %11.6f\n", kernel_name[k],
               11 - (int)strlen(kernel_name[k]), "", kernel_arrays[k] * array / s.least, s.mean,
               s.least, s.most);
    }
    Summary s = summary(times->reduction);
    if (s.count > 0)
        printf("Reduction of %d doubles, %d times: average %.6f, least %.6f, most %.6f s\n",
               SUMMED, s.count, s.mean, s.least, s.most);
}
