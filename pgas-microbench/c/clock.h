/* The clock, and whether the PEs have the same one. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>

/* Seconds since a fixed time before the job. */
double clock_now(void);

/* Whether the clocks of all PEs have the same zero, as they have under one running kernel.
 * Collective. */
bool clock_is_shared(void);

#endif
