/* Whether load and store reach the memory of the other PE of a pair, over OpenSHMEM. */
#ifndef REACHABLE_H
#define REACHABLE_H

#include <shmem.h>

#include "operation.h"

static inline bool reachable(const struct transfer *t)
{
    return shmem_ptr(t->source, t->peer) != NULL && shmem_ptr(t->dest, t->peer) != NULL;
}

/* For macros that define an operation of a transfer `t`: what it needs beforehand, and its arrays as longs. */
#define NOTHING (void)0
#define TO_PEER void *to = shmem_ptr(t.dest, t.peer)
#define FROM_PEER const void *from = shmem_ptr(t.source, t.peer)
#define SOURCE ((const long *)t.source)
#define DEST ((long *)t.dest)

#endif
