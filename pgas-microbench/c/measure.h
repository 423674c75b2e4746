/* Times one point: an operation at a size. */
#ifndef MEASURE_H
#define MEASURE_H

#include "operation.h"
#include "statistics.h"

struct measurement {
    int samples;
    struct summary summary; /* in `unit` */
};

/* Room for the times of `samples` runs on all PEs. Collective, once. */
void measure_begin(int samples);

/* Repeats the operation until a sample is long enough, then takes samples for about `seconds`,
 * at least LEAST_SAMPLES and at most as many as there is room for. Collective. */
struct measurement measure(const struct operation *operation, const struct transfer *t,
                           double seconds);

#endif
