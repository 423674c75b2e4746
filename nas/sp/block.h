/* Blocks of neighbouring lines that are solved side by side: loading them from the fields and
 * storing them back.
 *
 * Lines along x lie in planes of z, side by side along y; lines along y in planes of z, and
 * lines along z in planes of y, both side by side along x, as fields are stored. */
#ifndef BLOCK_H
#define BLOCK_H

#include "row.h"

typedef struct {
    enum axis axis;       /* of the lines */
    int cell, plane;
    int group, first;     /* the block's number in the plane, its first line */
    int lanes, length;    /* lines, points of a line */
    Row *rows;
    Speeds *speeds;       /* speeds[0] is that of the point before the first */
} Block;

/* Planes of lines, and groups of a plane, in a cell. */
int planes_of(int cell, enum axis axis);
int groups_of(int cell, enum axis axis);

/* The block at `plane` and `group`, with memory for its rows and speeds. */
Block block_at(int cell, enum axis axis, int plane, int group, Row *rows, Speeds *speeds);

/* Loads row n and the speeds of row n + 1; call `block_start` first, then n = 0, 1, ... */
void block_start(const Block *block);
void block_load(const Block *block, int n);

/* Stores row n, which holds unknowns, for n = length - 1, ..., 0; then call `block_finish`. */
void block_store(const Block *block, int n);
void block_finish(const Block *block);

#endif
