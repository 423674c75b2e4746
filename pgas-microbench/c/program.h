/* A program: a list of operations, measured one after another. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "operation.h"

struct program {
    const char *name;
    const char *what; /* one line for a comment */
    bool pairs;       /* needs an even number of PEs, two at least */
    bool windows;     /* buffers are reached by other PEs, beside collectives */
    size_t least;     /* default of -m */
    size_t memory;    /* most bytes of buffers of all PEs together; 0: no limit */
    const struct operation *operations;
    int count;
};

/* What main does. */
int program_run(const struct program *program, int argc, char **argv);

#endif
