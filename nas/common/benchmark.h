/* What the NAS benchmarks share: their argument, report and exit status; and job.h.
 *
 * Every function is called by all PEs with the same arguments, as a collective. */
#ifndef BENCHMARK_H
#define BENCHMARK_H

#include <stdbool.h>

#include "job.h"

/* The result of one run. */
typedef struct {
    const char *name;      /* "IS" */
    char class;
    long size[3];          /* of the problem; 0: no such dimension */
    int iterations;
    double seconds;        /* of the timed iterations, on the slowest PE */
    double mops;           /* millions of operations per second, all PEs together */
    const char *operation; /* what is counted */
    const char *variant;   /* VARIANT of variant.h */
    bool verified;
} Report;

/* Initialises OpenSHMEM. The class, which is the only argument and one of `classes`, or a refusal. */
char benchmark_start(int argc, char **argv, const char *name, const char *classes);

/* Prints the report by PE 0, in the form that is usual for these benchmarks. */
void report_print(const Report *report);

/* Finalises OpenSHMEM. The exit status of the program: 1 for a result that is not verified. */
int benchmark_end(const Report *report);

#endif
