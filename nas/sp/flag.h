/* Point-to-point synchronisation: a flag counts the steps, or the batches of lines, whose data have
 * arrived.
 *
 * Flags need no reset, and no data are overwritten before they are read: a PE starts a step
 * after it has received the ghost points of all its neighbours, which send them at the end of
 * the previous step, after their last use of the data that the PE overwrites. */
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

/* Flags of this PE: for the ghost points from a side, and for the data of a cell's lines from the
 * cell before (LOW) or after it (HIGH). */
Flag *flag_of_ghosts(enum axis axis, enum side side);
Flag *flag_of_lines(int cell, enum axis axis, enum side side);

/* Sets a flag of PE `pe` to `count`. The PE that reads this value also sees all data sent
 * before. */
void flag_raise(Flag *flag, long count, int pe);

/* Waits until the flag is at least `count`. */
void flag_await(Flag *flag, long count);

#endif
