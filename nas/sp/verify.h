/* Verification of the values after the last step. */
#ifndef VERIFY_H
#define VERIFY_H

#include <stdbool.h>

/* Compares norms of residual and error after the last step; PE 0 prints them. */
bool verify(void);

#endif
