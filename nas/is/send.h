/* Sending keys to the PEs that own their buckets, by put or through shmem_ptr. */
#ifndef SEND_H
#define SEND_H

#include <stddef.h>

#include "variant.h"

#ifdef VARIANT_PUTGET

struct Place {
    int *next;       /* address here of what is at that place on `pe` */
    int pe;
    ptrdiff_t ahead; /* from `next` to the line to ask for */
};

#else

struct Place {
    int *next;       /* address of PE `pe`'s memory here */
};

#endif

typedef struct Place Place;

/* Keys are sent to many places in turn, so hardware does not see that it will need the line
 * after each; without being asked for ahead of time, each new line stops the stores for as long
 * as it takes to come. This is a hint, and harmless where the address is none. */
enum { CACHE_LINE = 64 };

static inline Place place_at(int *symmetric, int pe)
{
    char *there = shmem_ptr(symmetric, pe);
#ifdef VARIANT_PUTGET
    ptrdiff_t distance = there == NULL ? 0 : there - (char *)symmetric;
    return (Place){symmetric, pe, distance + CACHE_LINE};
#else
    return (Place){(int *)there};
#endif
}

static inline void send(Place *place, int key)
{
    int *next = place->next;
#ifdef VARIANT_PUTGET
    __builtin_prefetch((char *)next + place->ahead, 1);
    shmem_int_p(next, key, place->pe);
#else
    __builtin_prefetch((char *)next + CACHE_LINE, 1);
    *next = key;
#endif
    place->next = next + 1;
}

#endif
