/* Options of the STREAM programs, and the size of the arrays that follows from them. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>

typedef struct {
    size_t elements;    /* of each array, of each worker */
    int reduce_every;   /* repetitions from one reduction to the next; 0: none */
    size_t cache;       /* bytes of last-level cache of the node; 0: not known */
} Options;

/* Reads the arguments; ends the program if they are wrong. */
Options options_read(int argc, char **argv);

/* Bytes of last-level cache that the rule is applied to. */
size_t options_cache(const Options *options);

/* Whether each array is, over all workers, as large as the rules of STREAM require. */
int options_follow_rule(const Options *options);

#endif
