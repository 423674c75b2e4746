/* Data of atomic operations: one counter on each PE, and what each PE did to the others'. */
#ifndef TALLY_H
#define TALLY_H

#include "operation.h"

enum { INITIAL = 7, STEP = 3 }; /* the counter's first value; what fetch_add adds */

/* A kernel leaves here what it did. */
extern struct tally {
    long added; /* the counter is INITIAL plus the sum of this over the PEs that meant it */
    long old;   /* sum of the values that it was given, each less INITIAL */
} tally;

/* All look at the counter's sum. With a step, each operation must also have seen a value of its
 * own: INITIAL, INITIAL + step, and so on. */
extern const struct data sum_data;      /* tally.added; for fetch it must be 0 */
extern const struct data step_1_data;   /* tally.old */
extern const struct data step_data;     /* tally.old, STEP */
extern const struct data set_data;      /* the last operation sets INITIAL + repetitions */

#endif
