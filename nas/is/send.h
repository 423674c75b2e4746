/* Sending keys to the PEs that own their buckets, by put or through shmem_ptr. */
#ifndef SEND_H
#define SEND_H

#include <stddef.h>

#include "line.h"
#include "problem.h"
#include "variant.h"

#ifdef VARIANT_PUTGET

struct Place {
    int *next;       /* address here of what is at that place on `pe` */
    ptrdiff_t ahead; /* from `next` to the line to ask for */
    int pe;
    char rest[12];   /* a power of two in all, so that an index needs no multiplication */
};

#else

struct Place {
    int *next; /* address here of PE `pe`'s memory */
};

#endif

typedef struct Place Place;

/* Keys go to many places in turn, and each new line stops the stores for as long as it takes to
 * come, unless it is asked for while the one before it is filled. This is a hint, harmless where
 * the memory of the other PE is not mapped here. */
static inline Place place_at(int *symmetric, int pe)
{
    char *there = shmem_ptr(symmetric, pe);
#ifdef VARIANT_PUTGET
    ptrdiff_t distance = there == NULL ? 0 : there - (char *)symmetric;
    return (Place){.next = symmetric, .ahead = distance + LINE, .pe = pe};
#else
    return (Place){(int *)there};
#endif
}

/* `ask` for the next line: it is enough to do so for every other key. */
static inline void send(Place *place, int key, int ask)
{
    int *next = place->next;
#ifdef VARIANT_PUTGET
    int pe = place->pe;
    if (pe < 0 || pe >= MOST_PES)
        __builtin_unreachable(); /* spares an inlined put the same arithmetic for every key */
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
