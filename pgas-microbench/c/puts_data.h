/* Data of many puts: a part of the destination for each PE that puts. */
#ifndef PUTS_DATA_H
#define PUTS_DATA_H

#include "operation.h"

/* Puts of a repetition: of each PE, or of one PE to each. */
enum { EACH = 64 };

/* Where the puts of a PE begin. */
static inline long *place(const struct transfer *t, int pe)
{
    return (long *)t->dest + (size_t)pe * EACH;
}

/* Where a PE's put goes in turn: the PEs begin with different ones. */
static inline int target(const struct transfer *t, int pe, int i)
{
    return (pe + i) % t->pes;
}

extern const struct data one_to_all_data, all_to_all_data;

#endif
