/* Data of transfers between the PEs of a pair. */
#ifndef PAIR_DATA_H
#define PAIR_DATA_H

#include "operation.h"

extern const struct data put_data, get_data;   /* contiguous */
extern const struct data copy_data;            /* within the origin */
extern const struct data window_data;          /* put, a window of neighbours */
extern const struct data exchange_data;        /* both PEs, in two places by turns */
extern const struct data iput_data, iget_data; /* longs, two apart on the remote side */
extern const struct data ring_data;            /* elements that name each other: see RING */

enum { STRIDE = 2 };

/* Bytes from one of the two places to the other: whole cache lines. */
static inline size_t place_bytes(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Where repetition `r` of an exchange goes: what the last one has brought stays until the next one has arrived, so
 * that the peer may be a repetition ahead. */
static inline char *exchange_place(const struct transfer *t, long r)
{
    return t->dest + (size_t)(r % 2) * place_bytes(t->bytes);
}

/* For loads that depend on the load before: element i of RING elements holds (i + 1) % RING. The
 * kernel starts at 0 and stores the last index in `ring_place`. */
enum { RING = 4 };
extern long ring_place;

#endif
