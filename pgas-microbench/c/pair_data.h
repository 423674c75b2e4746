/* Data of transfers between the PEs of a pair. */
#ifndef PAIR_DATA_H
#define PAIR_DATA_H

#include "operation.h"

extern const struct data put_data, get_data;   /* contiguous */
extern const struct data window_data;          /* put, a window of neighbours */
extern const struct data iput_data, iget_data; /* longs, two apart on the remote side */
extern const struct data ring_data;            /* elements that name each other: see RING */

enum { STRIDE = 2 };

/* For loads that depend on the load before: element i of RING elements holds (i + 1) % RING. The
 * kernel starts at 0 and stores the last index in `ring_place`. */
enum { RING = 4 };
extern long ring_place;

#endif
