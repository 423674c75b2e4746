/* Whether load and store reach the memory of the other PE of a pair, over OpenSHMEM. */
#ifndef REACHABLE_H
#define REACHABLE_H

#include <shmem.h>

#include "operation.h"

static inline bool reachable(const struct transfer *t)
{
    return shmem_ptr(t->source, t->peer) != NULL && shmem_ptr(t->dest, t->peer) != NULL;
}

#endif
