/* Median and percentiles of samples. */
#ifndef STATISTICS_H
#define STATISTICS_H

struct summary {
    double median, low, high; /* low and high: a tenth of the samples is below, above */
};

/* Sorts the samples and computes their statistics. */
struct summary summarise(double *samples, int count);

#endif
