/* Workers are threads of OpenMP, with arrays from malloc. */
#include "workers.h"

#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const worker_noun = "thread";

static const char *program;

void workers_start(const char *name)
{
    program = name;
}

void workers_refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

int workers(void)
{
    return omp_get_max_threads();
}

/* Not initialised: each thread writes to its part first, which places it on the NUMA node of the
     * thread. */
Arrays workers_arrays(size_t n)
{
    size_t bytes = (size_t)workers() * n * sizeof(double);
    Arrays arrays = {malloc(bytes), malloc(bytes), malloc(bytes)};
    if (arrays.a == NULL || arrays.b == NULL || arrays.c == NULL)
        workers_refuse("no memory for three arrays of %zu MiB", bytes >> 20);
    return arrays;
}

void workers_run(void (*body)(Arrays mine, size_t n), Arrays arrays, size_t n)
{
#pragma omp parallel
    {
        size_t at = (size_t)omp_get_thread_num() * n;
        body((Arrays){arrays.a + at, arrays.b + at, arrays.c + at}, n);
    }
    free(arrays.a);
    free(arrays.b);
    free(arrays.c);
}

int workers_end(int status)
{
    return status;
}

int worker(void)
{
    return omp_get_thread_num();
}

void workers_barrier(void)
{
#pragma omp barrier
}

double workers_clock(void)
{
    return omp_get_wtime();
}

void workers_max(double *values, size_t count)
{
    static double all[SUMMED];
#pragma omp single
    memcpy(all, values, count * sizeof *all);
#pragma omp critical
    for (size_t i = 0; i < count; i++)
        if (values[i] > all[i])
            all[i] = values[i];
#pragma omp barrier
    memcpy(values, all, count * sizeof *all);
#pragma omp barrier
}

double workers_sum(const double *mine, size_t n)
{
    static double all[SUMMED];
    size_t count = n < SUMMED ? n : SUMMED;
#pragma omp single
    memset(all, 0, sizeof all);
#pragma omp critical
    for (size_t i = 0; i < count; i++)
        all[i] += mine[i];
#pragma omp barrier
    double first = all[0];
#pragma omp barrier
    return first;
}
