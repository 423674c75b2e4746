/* The job: its PEs, a barrier, memory, and an exchange of numbers. A program links one
 * implementation: job_shmem.c over OpenSHMEM or job_mpi.c over MPI. job_pe, job_pes and job_library
 * are local, all others are called by all PEs. */
#ifndef JOB_H
#define JOB_H

#include <stddef.h>

void job_start(int *argc, char ***argv);
int job_pe(void);
int job_pes(void);
void job_library(char *text, size_t length); /* name and level, for a comment */

void job_end(void);
void job_barrier(void);

/* Memory of the same size on every PE, aligned to pages: for one-sided operations of other PEs, and
 * for collectives. NULL on all PEs if there is not enough. */
void *job_window(size_t bytes);
void *job_buffer(size_t bytes);

/* Gathers the `count` numbers of each PE on all PEs: those of PE i begin at all[i * count]. */
void job_share(const double *mine, size_t count, double *all);

/* Ends the job with one line on standard error and status 1. */
_Noreturn void job_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
