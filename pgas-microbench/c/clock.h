/* The clock, and whether the PEs have the same one. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>

/* Seconds since some moment before the job. */
double clock_now(void);

/* Whether all PEs count from the same moment: those of one running kernel do. Collective. */
bool clock_is_shared(void);

#endif
