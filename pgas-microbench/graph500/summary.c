/* Statistics in the format of the Graph500 benchmark. */
#include "summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a share of the sorted ones lies, between two of them by their distance. */
static double quantile(const double *value, int n, double share)
{
    double at = share * (n - 1);
    int below = (int)at;
    double above = below + 1 < n ? value[below + 1] : value[below];
    return value[below] + (at - below) * (above - value[below]);
}

static void line(const char *statistic, const char *name, double value)
{
    printf("%s_%s: %.6g\n", statistic, name, value);
}

static void print_order(const char *name, double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, ascending);
    line("min", name, value[0]);
    line("firstquartile", name, quantile(value, n, 0.25));
    line("median", name, quantile(value, n, 0.5));
    line("thirdquartile", name, quantile(value, n, 0.75));
    line("max", name, value[n - 1]);
}

static double mean(const double *value, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += value[i];
    return sum / n;
}

static double deviation(const double *value, int n, double mean)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (value[i] - mean) * (value[i] - mean);
    return n > 1 ? sqrt(sum / (n - 1)) : 0;
}

void summary_print(const char *name, double *value, int n)
{
    print_order(name, value, n);
    double average = mean(value, n);
    line("mean", name, average);
    line("stddev", name, deviation(value, n, average));
}

void summary_print_rates(const char *name, double *value, int n)
{
    print_order(name, value, n);
    for (int i = 0; i < n; i++)
        value[i] = 1 / value[i];
    double inverse = mean(value, n), error = deviation(value, n, inverse);
    line("harmonic_mean", name, 1 / inverse);
    /* The standard error of a harmonic mean (Norris, 1940). */
    line("harmonic_stddev", name, n > 1 ? error / (inverse * inverse) / sqrt(n) : 0);
}
