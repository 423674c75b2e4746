/* The command line, the same for every program. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { LEAST_SAMPLES = 5, MOST_SAMPLES = 1000 };

struct options {
    double seconds;             /* -t: time for one point */
    int samples;                /* -s */
    size_t least, most, factor; /* -m, -M, -f: sizes in bytes */
    bool help;                  /* -h */
    char **names;               /* the operations to measure; if there are none, all */
    int name_count;
};

/* Reads the command line of a program whose default for -m is `least`. Ends the job if the command
 * line is wrong. */
struct options options_read(const char *program, size_t least, int argc, char **argv);

/* Prints the options for -h. */
void options_explain(const char *program, size_t least);

/* Whether an operation is to be measured. */
bool options_want(const struct options *options, const char *operation);

#endif
