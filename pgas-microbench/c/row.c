/* The output: comments, a header and rows of comma-separated values, by PE 0, line by line. */
#include "row.h"

#include <stdarg.h>
#include <stdio.h>

#include "job.h"

static const struct {
    const char *name, *unit;
} quantities[] = {
    [OWN_LATENCY] = {"latency", "us"},
    [CALL_LATENCY] = {"latency", "us"},
    [BANDWIDTH] = {"bandwidth", "MB/s"},
    [RATE] = {"rate", "Mop/s"},
};

void print_comment(const char *format, ...)
{
    if (job_pe() != 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    fputs("# ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    fflush(stdout);
}

void print_header(void)
{
    if (job_pe() != 0)
        return;
    puts("operation,form,quantity,pes,pairs,bytes,samples,median,low,high,unit");
    fflush(stdout);
}

void print_row(const struct operation *o, const struct transfer *t, struct measurement m)
{
    if (job_pe() != 0)
        return;
    int pairs = o->part == EVERYONE ? 0 : t->pes / 2;
    printf("%s,%s,%s,%d,%d,%zu,%d,%.6g,%.6g,%.6g,%s\n", o->name, o->form,
           quantities[o->quantity].name, t->pes, pairs, t->bytes, m.samples, m.summary.median,
           m.summary.low, m.summary.high, quantities[o->quantity].unit);
    fflush(stdout);
}
