/* Start, refusal, end and clock of a benchmark. */
#include "benchmark.h"

#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char program[16]; /* name in lower case, as executables are called */

char benchmark_start(int argc, char **argv, const char *name, const char *classes)
{
    shmem_init();
    for (size_t i = 0; i + 1 < sizeof program && name[i] != '\0'; i++)
        program[i] = (char)(name[i] | 0x20);
    if (argc != 2)
        refuse("give the class, one of %s, as the only argument", classes);
    if (strlen(argv[1]) != 1 || strchr(classes, argv[1][0]) == NULL)
        refuse("there is no class \"%s\": give one of %s", argv[1], classes);
    return argv[1][0];
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
    shmem_barrier_all(); /* the line is out before any PE ends the job */
    shmem_global_exit(EXIT_FAILURE);
    exit(EXIT_FAILURE); /* not reached; some headers do not say so */
}

int benchmark_end(const Report *report)
{
    shmem_finalize();
    return report->verified ? EXIT_SUCCESS : EXIT_FAILURE;
}

double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
