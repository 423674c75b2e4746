/* A program: a list of operations, measured one after another. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "operation.h"

struct program {
    const char *name;
    const char *what; /* one line for a comment */
    bool pairs;       /* needs an even number of PEs, two at least */
    bool windows;     /* one-sided operations access the buffers */
    size_t least;     /* default of -m */
    size_t memory;    /* most bytes of buffers of all PEs together; 0: no limit */
    int most_pes;     /* 0: no limit */
    const struct operation *operations;
    int count;
};

/* The main function of a program. */
int program_run(const struct program *program, int argc, char **argv);

/* Defines `main` of a program that measures the array `operations`; the other members follow. */
#define PROGRAM(title, line, ...)                             \
    int main(int argc, char **argv)                           \
    {                                                         \
        static const struct program program = {               \
            .name = title,                                    \
            .what = line,                                     \
            .operations = operations,                         \
            .count = sizeof operations / sizeof *operations,  \
            __VA_ARGS__                                       \
        };                                                    \
        return program_run(&program, argc, argv);             \
    }

/* The same for operations in pairs on the memory of other PEs. */
#define PAIR_PROGRAM(title, line) \
    PROGRAM(title, line, .pairs = true, .windows = true, .least = 1)

#endif
