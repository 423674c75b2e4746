/* Verification of rankings. */
#ifndef VERIFY_H
#define VERIFY_H

#include <stdbool.h>

#include "ranking.h"

/* How many of the test keys are mine and have the rank they should have in an iteration. */
int verify_tests(const Ranking *r, int iteration);

/* Whether the ranks put all keys of all PEs in order. Uses the ranks up. */
bool verify_order(Ranking *r);

#endif
