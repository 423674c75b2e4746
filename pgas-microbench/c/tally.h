/* Data of atomic operations: one counter on each PE, and the effect of each PE on another one's. */
#ifndef TALLY_H
#define TALLY_H

#include "operation.h"

enum { INITIAL = 7, STEP = 3 }; /* the counter's first value; what fetch_add adds */

/* The effect of a kernel, which stores it here. */
extern struct tally {
    long added; /* the counter is INITIAL plus the sum of this over the PEs that operate on it */
    long old;   /* sum of the returned values, each less INITIAL */
} tally;

/* All check the sum of the counter. With a step, the operations must also have returned distinct
 * values: INITIAL, INITIAL + step, and so on. */
extern const struct data sum_data;      /* tally.added; for fetch it must be 0 */
extern const struct data step_1_data;   /* tally.old */
extern const struct data step_data;     /* tally.old, STEP */
extern const struct data set_data;      /* the last operation sets INITIAL + repetitions */

#endif
