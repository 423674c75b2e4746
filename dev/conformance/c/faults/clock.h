/* The clock of faults. */
#include "check.h"

#include <time.h>

/* Milliseconds on the clock that the tests read, and that all hosts of a machine share. */
static inline long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Tells the test that the fault comes now. */
static inline void now(void)
{
    printf("FAULT_AT %lld\n", now_ms());
    fflush(stdout);
}
