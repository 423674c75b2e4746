/* The explicit part of a step: what follows from u, and the right-hand side of the equations. */
#ifndef RHS_H
#define RHS_H

#include "problem.h"

/* A line of points in local memory, by component. */
typedef double Line[COMPONENTS][MOST_POINTS];

/* Computes the fields that follow from u in a plane of a cell, and in the ghost points next to
 * it; `k` may be -1 or one past the last plane. */
void state_plane(int cell, int k);

/* The right-hand side times dt along a line; its plane and both next to it must have their
 * state. */
void right_hand_side(int cell, int k, int j, Line out);

/* Makes the forcing term, and puts the starting solution into u. */
void forcing_make(void);

#endif
