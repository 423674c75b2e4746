/* The report of a benchmark: a banner and one line for each value, in the format of the NAS
 * Parallel Benchmarks, which scripts read. */
#include "benchmark.h"

#include <shmem.h>
#include <stdio.h>

enum { WIDTH = 24 };

static void text(const char *label, const char *value)
{
    printf(" %-15s = %*s\n", label, WIDTH, value);
}

static void integer(const char *label, long value)
{
    printf(" %-15s = %*ld\n", label, WIDTH, value);
}

static void number(const char *label, double value, int digits)
{
    printf(" %-15s = %*.*f\n", label, WIDTH, digits, value);
}

static void print_size(const long size[3])
{
    char product[96];
    if (size[1] == 0) {
        integer("Size", size[0]);
        return;
    }
    snprintf(product, sizeof product, "%4ldx%4ldx%4ld", size[0], size[1], size[2]);
    text("Size", product);
}

void report_print(const Report *report)
{
    if (shmem_my_pe() != 0)
        return;
    char library[SHMEM_MAX_NAME_LEN];
    shmem_info_get_name(library);
    printf("\n\n %s Benchmark Completed.\n", report->name);
    text("Class", (char[]){report->class, '\0'});
    print_size(report->size);
    integer("Iterations", report->iterations);
    number("Time in seconds", report->seconds, 4);
    integer("Total processes", shmem_n_pes());
    number("Mop/s total", report->mops, 2);
    number("Mop/s/process", report->mops / shmem_n_pes(), 2);
    text("Operation type", report->operation);
    text("Verification", report->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
    text("Version", report->variant);
    text("OpenSHMEM", library);
    fflush(stdout);
}
