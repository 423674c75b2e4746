/* The ranking of keys that are spread over all PEs.
 *
 * The range of keys is cut into buckets of equal width, and each bucket belongs to a PE, so that
 * a PE's buckets are consecutive and hold about as many keys as any other's. One ranking is
 *
 *   1. count:  each PE counts its keys by bucket;
 *   2. plan:   a sum over all PEs gives the size and thereby the owner of each bucket; the counts
 *              of the PEs before this one give the offset of its keys in the bucket;
 *   3. send:   each key is written directly to its place on the owner, by a put or a store;
 *   4. rank:   the owner counts the keys of each bucket by value and sums the counts: the rank of
 *              a key is the number of smaller keys on all PEs.
 */
#ifndef RANKING_H
#define RANKING_H

#include <stddef.h>

#include "problem.h"

/* The place of the next key of a bucket. */
typedef struct Slot Slot;

typedef struct {
    const Problem *problem;
    int me, pes;
    size_t keys;           /* of each PE before they are sent */
    size_t room;           /* for received keys */
    int buckets, shift;    /* key >> shift is its bucket */
    int first, end;        /* my buckets, after a ranking */
    int test_keys[TESTS];  /* the keys with the indices of the tests */

    /* Symmetric. */
    int *key;              /* my part of the sequence */
    int *received;         /* keys of my buckets, bucket by bucket */
    int *count, *total;    /* keys by bucket, of this PE and of all; then test keys */

    /* Private. */
    int *start;            /* keys in the buckets before each; of all PEs */
    int *before;           /* keys of PEs before me, by bucket */
    int *row;              /* counts of another PE */
    Slot *place;          /* by bucket */
    int *rank;             /* of each possible key of my buckets; see ranking_rank */
} Ranking;

/* Allocates memory and generates the keys; ends the job if there is not enough memory. */
void ranking_start(Ranking *r, const Problem *problem);

/* Ranks all keys. */
void ranking_run(Ranking *r);

void ranking_end(Ranking *r);

/* The rank of a key of my buckets. */
static inline int *ranking_rank(const Ranking *r, int key)
{
    return &r->rank[key - (r->first << r->shift)];
}

#endif
