/* Workers: PEs (workers_pes.c) or threads (workers_threads.c).
 *
 * Every function is called by all PEs; worker() and those after it also by all threads, from
 * the body of workers_run. */
#ifndef WORKERS_H
#define WORKERS_H

#include <stddef.h>

extern const char *const worker_noun; /* "PE" */

/* Elements that workers_sum adds up. */
enum { SUMMED = 1024 };

void workers_start(const char *program);
_Noreturn void workers_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
int workers(void);

/* Allocates three arrays of n doubles for each worker; ends the program if there is no memory. */
typedef struct {
    double *a, *b, *c;
} Arrays;
Arrays workers_arrays(size_t n);

/* Runs the body once by each worker, on its part of the arrays; frees them. */
void workers_run(void (*body)(Arrays mine, size_t n), Arrays arrays, size_t n);

/* Ends the program with this status, which is the same on all PEs. */
int workers_end(int status);

int worker(void);
void workers_barrier(void);
double workers_clock(void);

/* The largest of each of `count` values over all workers, in place; at most SUMMED values. */
void workers_max(double *values, size_t count);

/* The sum over all workers of the first SUMMED (or n, if fewer) elements of an array of each;
 * the first element of the result. */
double workers_sum(const double *mine, size_t n);

#endif
