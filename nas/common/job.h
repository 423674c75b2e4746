/* A job of PEs: start and early end, clock, symmetric memory.
 *
 * Every function is called by all PEs with the same arguments, as a collective. */
#ifndef JOB_H
#define JOB_H

#include <stddef.h>

/* Initialises OpenSHMEM; error messages begin with the name. */
void job_start(const char *name);

/* The same for programs whose threads all call OpenSHMEM. Ends the job if the library does not support it. */
void job_start_threads(const char *name);

/* PE 0 prints one line on standard error, and the job ends with status 1. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Announces the total of all calls of symmetric(), for its error message. */
void heap_needed(size_t bytes_per_pe);

/* Symmetric memory, zeroed and aligned to cache lines. Ends the job if there is not enough, or if
 * the variant is shmem_ptr and a PE cannot load from and store to the memory of another. */
void *symmetric(size_t bytes, const char *what);

/* A monotonic clock. */
double seconds(void);

#endif
