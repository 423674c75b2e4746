/* Verification of rankings. */
#ifndef VERIFY_H
#define VERIFY_H

#include <stdbool.h>

#include "ranking.h"

/* The number of test keys of this PE that have the correct rank in an iteration. */
int verify_tests(const Ranking *r, int iteration);

/* Whether the ranks sort all keys of all PEs. Overwrites the ranks. */
bool verify_order(Ranking *r);

#endif
