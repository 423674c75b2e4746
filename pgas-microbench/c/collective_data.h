/* Data of collectives: long in those that move it, double or int in reductions. */
#ifndef COLLECTIVE_DATA_H
#define COLLECTIVE_DATA_H

#include "operation.h"

extern const struct data no_data;
extern const struct data broadcast_data;    /* checked from the root that `root` names */
extern const struct data collect_data;      /* the arrays of all PEs, one after another */
extern const struct data alltoall_data;     /* part i of PE j becomes part j of PE i */
extern const struct data alltoalls_data;    /* the same, elements ALLTOALLS_STRIDE apart */
extern const struct data sum_data, int_sum_data;
extern const struct data inscan_data, exscan_data;

enum { ALLTOALLS_STRIDE = 2 };

/* Most bytes of arrays of all PEs together: sizes that would need more are left out. */
#define COLLECTIVE_MEMORY ((size_t)256 << 20)

/* The root of a broadcast is the next PE in each call, so that no PE can run ahead: in the next
 * call it waits for the data of another one. The kernel stores the root of its last call here. */
extern int root;

static inline int next_root(int pes)
{
    root = root + 1 < pes ? root + 1 : 0;
    return root;
}

#endif
