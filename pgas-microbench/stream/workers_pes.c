/* Workers are PEs, with arrays in the symmetric heap. */
#include "workers.h"

#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "reduce.h"

const char *const worker_noun = "PE";

void workers_start(const char *program)
{
    job_start(program);
}

void workers_refuse(const char *format, ...)
{
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    refuse("%s", reason);
}

int workers(void)
{
    return shmem_n_pes();
}

Arrays workers_arrays(size_t n)
{
    size_t bytes = n * sizeof(double);
    heap_needed(3 * bytes);
    double *a = symmetric(bytes, "array a"), *b = symmetric(bytes, "array b");
    return (Arrays){a, b, symmetric(bytes, "array c")};
}

void workers_run(void (*body)(Arrays mine, size_t n), Arrays arrays, size_t n)
{
    body(arrays, n);
    shmem_free(arrays.a);
    shmem_free(arrays.b);
    shmem_free(arrays.c);
}

int workers_end(int status)
{
    shmem_finalize();
    return status;
}

int worker(void)
{
    return shmem_my_pe();
}

void workers_barrier(void)
{
    shmem_barrier_all();
}

double workers_clock(void)
{
    return seconds();
}

void workers_max(double *values, size_t count)
{
    static double mine[SUMMED], all[SUMMED];
    memcpy(mine, values, count * sizeof *mine);
    max_doubles(all, mine, count);
    memcpy(values, all, count * sizeof *all);
}

double workers_sum(const double *mine, size_t n)
{
    static double all[SUMMED];
    sum_doubles(all, mine, n < SUMMED ? n : SUMMED);
    return all[0];
}
