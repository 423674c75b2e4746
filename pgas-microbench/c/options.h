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
    char **names;               /* operations that are wanted; all if there is none */
    int name_count;
};

/* Reads the command line of a program whose sizes begin at `least` unless it says otherwise.
 * Ends the job if something is wrong with it. */
struct options options_read(const char *program, size_t least, int argc, char **argv);

/* Prints the options for -h. */
void options_explain(const char *program, size_t least);

/* Whether an operation is wanted. */
bool options_want(const struct options *options, const char *operation);

#endif
