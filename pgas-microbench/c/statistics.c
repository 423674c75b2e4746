/* Median and percentiles of samples. */
#include "statistics.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between two samples of the rank, their weighted mean. */
static double quantile(const double *sorted, int count, double fraction)
{
    double rank = fraction * (count - 1);
    int below = (int)rank, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (rank - below) * (sorted[above] - sorted[below]);
}

struct summary summarise(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    return (struct summary){
        .median = quantile(samples, count, 0.5),
        .low = quantile(samples, count, 0.1),
        .high = quantile(samples, count, 0.9),
    };
}
