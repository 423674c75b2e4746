/* Start and end of a NAS benchmark. */
#include "benchmark.h"

#include <shmem.h>
#include <stdlib.h>
#include <string.h>

char benchmark_start(int argc, char **argv, const char *name, const char *classes)
{
    static char program[16]; /* in lower case, like the executable */
    for (size_t i = 0; i + 1 < sizeof program && name[i] != '\0'; i++)
        program[i] = (char)(name[i] | 0x20);
    job_start(program);
    if (argc != 2)
        refuse("give the class, one of %s, as the only argument", classes);
    if (strlen(argv[1]) != 1 || strchr(classes, argv[1][0]) == NULL)
        refuse("there is no class \"%s\": give one of %s", argv[1], classes);
    return argv[1][0];
}

int benchmark_end(const Report *report)
{
    shmem_finalize();
    return report->verified ? EXIT_SUCCESS : EXIT_FAILURE;
}
