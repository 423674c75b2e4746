/* The job over OpenSHMEM, with no routine newer than version 1.4. */
#include "job.h"

#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, CHUNK = 64 /* numbers of one PE in one round of the exchange */ };

static double *gathered; /* on PE 0: CHUNK numbers of each PE */

void job_start(int *argc, char ***argv)
{
    (void)argc, (void)argv; /* OpenSHMEM does not read the command line */
#ifdef _OPENMP
    int provided;
    shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided); /* OpenMP's threads call nothing */
#else
    shmem_init();
#endif
    gathered = shmem_malloc((size_t)shmem_n_pes() * CHUNK * sizeof *gathered);
    if (gathered == NULL)
        job_refuse("no memory for the figures of %d PEs in the symmetric heap", shmem_n_pes());
}

int job_pe(void)
{
    return shmem_my_pe();
}

int job_pes(void)
{
    return shmem_n_pes();
}

void job_library(char *text, size_t length)
{
    char name[SHMEM_MAX_NAME_LEN + 1] = "";
    int major, minor;
    shmem_info_get_name(name);
    shmem_info_get_version(&major, &minor);
    snprintf(text, length, "OpenSHMEM %d.%d, %s", major, minor, name);
}

void job_end(void)
{
    shmem_finalize();
}

void job_barrier(void)
{
    shmem_barrier_all();
}

void *job_window(size_t bytes)
{
    return shmem_align(PAGE, bytes);
}

void *job_buffer(size_t bytes)
{
    return job_window(bytes); /* collectives of OpenSHMEM work on symmetric memory */
}

void job_share(const double *mine, size_t count, double *all)
{
    size_t pes = (size_t)shmem_n_pes(), me = (size_t)shmem_my_pe();
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t part = count - done < CHUNK ? count - done : CHUNK;
        shmem_double_put(gathered + me * CHUNK, mine + done, part, 0);
        shmem_barrier_all();
        for (size_t pe = 0; pe < pes; pe++)
            shmem_double_get(all + pe * count + done, gathered + pe * CHUNK, part, 0);
        shmem_barrier_all(); /* before `gathered` is written again */
    }
}

/* The other PEs wait until PE 0, which prints the reason first, ends the job. */
_Noreturn void job_refuse(const char *format, ...)
{
    fflush(stdout);
    if (shmem_my_pe() != 0)
        shmem_barrier_all();
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    shmem_global_exit(EXIT_FAILURE);
    abort();
}
