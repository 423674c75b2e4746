/* The exact solution, which determines the forcing term, and the starting field. */
#ifndef EXACT_H
#define EXACT_H

#include "problem.h"

/* Both at a point of the global grid; outside of it, the exact solution continued. */
void exact_solution(const int point[AXES], double u[COMPONENTS]);
void start_solution(const int point[AXES], double u[COMPONENTS]);

#endif
