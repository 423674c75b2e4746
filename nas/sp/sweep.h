/* The implicit part of a step: all lines along an axis, through the cells that they cross. */
#ifndef SWEEP_H
#define SWEEP_H

#include <stddef.h>

#include "problem.h"

/* Symmetric bytes that sweeps need, and the allocation of their memory. */
size_t sweeps_size(void);
void sweeps_make(void);

/* Solves along an axis. X starts from u, Z ends with a new u. */
void sweep(enum axis axis, long step);

#endif
