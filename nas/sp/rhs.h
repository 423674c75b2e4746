/* The explicit part of a step: the state derived from u, and the right-hand side of the
 * equations. */
#ifndef RHS_H
#define RHS_H

#include "problem.h"

/* A line of points in local memory, by component. */
typedef double Line[COMPONENTS][MOST_POINTS];

/* Computes the state in a plane of a cell and in its ghost points; `k` may be -1 or one past the
 * last plane. */
void state_plane(int cell, int k);

/* The right-hand side times dt along a line; the state of its plane and of both neighbouring planes
 * must be computed before. */
void right_hand_side(int cell, int k, int j, Line out);

/* Makes the forcing term, and puts the starting solution into u. */
void forcing_make(void);

#endif
