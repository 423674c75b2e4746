/* Start and early end of a job, and its clock. */
#include "job.h"

#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *program;

void job_start(const char *name)
{
    program = name;
    shmem_init();
}

void job_start_threads(const char *name)
{
    int provided;
    program = name;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    if (provided < SHMEM_THREAD_MULTIPLE)
        refuse("this OpenSHMEM does not provide SHMEM_THREAD_MULTIPLE: run a program without threads");
}

void refuse(const char *format, ...)
{
    if (shmem_my_pe() == 0) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "%s: ", program);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    shmem_barrier_all(); /* PE 0 prints the line before any PE ends the job */
    shmem_global_exit(EXIT_FAILURE);
    exit(EXIT_FAILURE); /* not reached; some headers do not declare that */
}

double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
