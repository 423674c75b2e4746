/* Sending keys to the PEs that own their buckets, by put or through shmem_ptr. */
#ifndef SEND_H
#define SEND_H

#include <stddef.h>

#include "line.h"
#include "problem.h"
#include "variant.h"

#ifdef VARIANT_PUTGET

struct Slot {
    int *next;       /* local address of that place on `pe` */
    ptrdiff_t ahead; /* from `next` to the line to prefetch */
    int pe;
    char rest[12];   /* makes the size a power of two: indexing needs no multiplication */
};

#else

struct Slot {
    int *next; /* local address of the memory of PE `pe` */
};

#endif

typedef struct Slot Slot;

/* Keys go to many places in turn. Each new cache line stalls the stores until it arrives, unless it
 * is prefetched while the line before it is filled. The prefetch is a hint: it has no effect if the
 * memory of the other PE is not mapped. */
static inline Slot place_at(int *symmetric, int pe)
{
    char *there = shmem_ptr(symmetric, pe);
#ifdef VARIANT_PUTGET
    ptrdiff_t distance = there == NULL ? 0 : there - (char *)symmetric;
    return (Slot){.next = symmetric, .ahead = distance + LINE, .pe = pe};
#else
    return (Slot){(int *)there};
#endif
}

/* `ask`: whether to prefetch the next line; every other key is enough. */
static inline void send(Slot *place, int key, int ask)
{
    int *next = place->next;
#ifdef VARIANT_PUTGET
    int pe = place->pe;
    if (pe < 0 || pe >= MOST_PES)
        __builtin_unreachable(); /* lets the compiler omit the same test of every inlined put */
    if (ask)
        line_to_write((char *)next + place->ahead);
    shmem_int_p(next, key, pe);
#else
    if (ask)
        line_to_write((char *)next + LINE);
    *next = key;
#endif
    place->next = next + 1;
}

#endif
