/* A measured operation, in one form. */
#ifndef OPERATION_H
#define OPERATION_H

#include <stdbool.h>
#include <stddef.h>

#include "sizes.h"

enum quantity {
    OWN_LATENCY,  /* time of one operation, the mean of the PEs that count */
    CALL_LATENCY, /* time of one collective call, from the first PE's start to the last one's end */
    BANDWIDTH,    /* bytes per second of all pairs, from the first start to the last end */
    RATE,         /* operations per second, likewise */
};

/* The PEs that run the operation. In pairs, PE i works with PE i + n/2; the time of PE i counts. */
enum part { ORIGINS, BOTH, EVERYONE };

/* The memory of an operation, the same on all PEs. Kernels copy this structure: compilers keep the
 * copy in registers, whatever the kernel stores. */
struct transfer {
    enum part part;
    int me, pes, peer; /* peer: the other one of the pair; for EVERYONE PE 0 */
    bool origin;       /* in pairs, the lower one */
    char *source, *dest;
    size_t bytes;
    int window; /* operations of one repetition */
};

/* Contents of the buffers: the used size of each, the contents before the operation and after
 * `repetitions`. `fill` and `check` run on all PEs and may be collective. */
struct data {
    size_t (*source_bytes)(size_t bytes, int pes);
    size_t (*dest_bytes)(size_t bytes, int pes);
    void (*fill)(const struct transfer *t);
    bool (*check)(const struct transfer *t, long repetitions);
};

struct operation {
    const char *name, *form;
    enum quantity quantity;
    enum sizes sizes;
    enum part part;
    int window; /* operations of one repetition where they are small */
    const struct data *data;
    /* For BOTH, a last call with 0 repetitions ends what others have begun. */
    void (*run)(const struct transfer *transfer, long repetitions);
    bool (*available)(const struct transfer *t); /* NULL: always */
};

enum { WINDOW = 64 };

/* Receives that are begun before, for tags that never come, where matching is measured. */
enum { DEPTH = 1000 };

/* Whether a PE's time counts. */
static inline bool counts(enum part part, int pe, int pes)
{
    return part == EVERYONE || pe < pes / 2;
}

static inline int peer_of(enum part part, int pe, int pes)
{
    return part == EVERYONE ? 0 : (pe + pes / 2) % pes;
}

#endif
