/* Options of graph500. */
#ifndef OPTIONS_H
#define OPTIONS_H

/* How a search makes a vertex of another PE its own. */
typedef enum {
    CLAIM_SET, /* a proposed parent by an atomic set, which the vertex' PE takes up after a barrier */
    CLAIM_SWAP /* a compare-and-swap of the parent, and an entry in the queue of the vertex' PE */
} Claim;

typedef struct {
    int scale;      /* log2 of the number of vertices */
    int edgefactor; /* edges for each vertex */
    int searches;   /* from so many roots */
    int validated;  /* of them, so many are validated */
    Claim claim;
    int bottom_up; /* whether large frontiers are searched from the vertices not reached */
} Options;

/* Ends the job with one line if they make no sense. */
Options options_read(int argc, char **argv);

#endif
