/* Data of packing: every second block of the source. */
#ifndef PACKING_DATA_H
#define PACKING_DATA_H

#include <stdint.h>

#include "operation.h"

/* Bytes that are moved, whatever the length of a block. */
#define AREA ((size_t)8 << 20)

extern const struct data packing_data;

/* Every PE has one, a PE alone itself. */
static inline int partner(const struct transfer *t)
{
    return (t->me + t->pes / 2) % t->pes;
}

/* The PE whose partner this one is. */
static inline int partner_back(const struct transfer *t)
{
    return (t->me + t->pes - t->pes / 2) % t->pes;
}

#endif
