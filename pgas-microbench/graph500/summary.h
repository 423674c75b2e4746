/* Statistics of the searches. */
#ifndef SUMMARY_H
#define SUMMARY_H

/* Prints minimum, quartiles, maximum, mean and standard deviation of n values, each line
 * beginning with the statistic and `name`. Sorts them. */
void summary_print(const char *name, double *value, int n);

/* The same of rates, whose mean is the harmonic one. */
void summary_print_rates(const char *name, double *value, int n);

#endif
