/* The clock, and whether the PEs have the same one. */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "job.h"

double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The first part of the random identifier that Linux gives to each start of a kernel; 0 if there is
 * none. */
static double kernel(void)
{
    unsigned name = 0;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL) {
        if (fscanf(file, "%8x", &name) != 1)
            name = 0;
        fclose(file);
    }
    return name;
}

bool clock_is_shared(void)
{
    int pes = job_pes();
    double mine = kernel(), *all = malloc((size_t)pes * sizeof *all);
    if (all == NULL)
        abort();
    job_share(&mine, 1, all);
    bool shared = mine != 0;
    for (int pe = 0; pe < pes; pe++)
        shared = shared && all[pe] == mine;
    free(all);
    return shared || pes == 1;
}
