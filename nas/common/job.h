/* A job of PEs: start and refusal, clock, symmetric memory.
 *
 * Every function is called by all PEs with the same arguments, as a collective. */
#ifndef JOB_H
#define JOB_H

#include <stddef.h>

/* Initialises OpenSHMEM; refusals begin with the name. */
void job_start(const char *name);

/* Prints one line on standard error by PE 0; the job ends with status 1. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says how much symmetric() is going to be asked for: refusals tell it. */
void heap_needed(size_t bytes_per_pe);

/* Symmetric memory, zeroed and aligned to cache lines, or a refusal. Under the shmem_ptr variant
 * also a refusal where a PE cannot reach the memory of another by loads and stores. */
void *symmetric(size_t bytes, const char *what);

/* A monotonic clock. */
double seconds(void);

#endif
