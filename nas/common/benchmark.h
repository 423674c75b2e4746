/* Argument, report and exit status of the NAS benchmarks; includes job.h.
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
    const char *operation; /* the operation that `mops` counts */
    const char *variant;   /* VARIANT of variant.h */
    bool verified;
} Report;

/* Initialises OpenSHMEM. Returns the class, the only argument, which must be one of `classes`; ends
 * the job otherwise. */
char benchmark_start(int argc, char **argv, const char *name, const char *classes);

/* PE 0 prints the report, in the usual format of these benchmarks. */
void report_print(const Report *report);

/* Finalises OpenSHMEM. Returns the exit status of the program: 1 if the result is not verified. */
int benchmark_end(const Report *report);

#endif
