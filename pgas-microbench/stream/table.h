/* The output of STREAM. */
#ifndef TABLE_H
#define TABLE_H

#include "kernels.h"
#include "options.h"

/* Repetitions, of which the first is a warm-up and is not counted. */
enum { REPETITIONS = 10 };

/* Seconds of each repetition, of the slowest worker. */
typedef struct {
    double kernel[KERNELS][REPETITIONS];
    double reduction[REPETITIONS]; /* 0: there was none after this repetition */
} Times;

void table_print_sizes(const char *sources, const Options *options);
void table_print(const Times *times, const Options *options);

#endif
