/* Point-to-point synchronisation: a flag counts the steps, or the batches of lines, whose data
 * have come.
 *
 * Flags need no reset, and data never overtake readers: a PE starts a step with the ghost points
 * that all its neighbours sent at the end of the step before, after their last use of all that
 * the PE is going to overwrite. */
#ifndef FLAG_H
#define FLAG_H

#include <stddef.h>

#include "partition.h"

typedef struct {
    long count;
    char rest_of_cache_line[64 - sizeof(long)];
} Flag;

size_t flags_size(void);
void flags_make(void);

/* Flags of mine: the ghost points that come from a side, and the data of a cell's lines that
 * come from the cell before (LOW) or after it (HIGH). */
Flag *flag_of_ghosts(enum axis axis, enum side side);
Flag *flag_of_lines(int cell, enum axis axis, enum side side);

/* All data that went to the PE before are there when it sees the flag at `count`. */
void flag_raise(Flag *flag, long count, int pe);

/* Waits until the flag is at `count` or beyond. */
void flag_await(Flag *flag, long count);

#endif
