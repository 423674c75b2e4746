/* Multi-partition: the cells of the grid that a PE owns, and the owners of the neighbouring cells.
 *
 * The grid is cut into q slices along each axis, thus into q^3 cells, for q^2 PEs. A PE owns q
 * cells on a diagonal: one in each slice of every axis. In a sweep along any axis, slice by
 * slice, every PE therefore has work in every slice. The neighbours in one direction of all of a
 * PE's cells belong to one PE. Only inner points are distributed, boundaries are ghost points. */
#ifndef PARTITION_H
#define PARTITION_H

#include "problem.h"

enum side { LOW, HIGH, SIDES };
enum { GHOSTS = 2 }; /* layers of points that a cell keeps of the cells around it */
enum { MOST_CELLS = (MOST_POINTS - 2) / GHOSTS };

/* A cell; its number on its PE is its slice along z. */
typedef struct {
    int slice[AXES];
    int first[AXES]; /* global number of its first point */
    int count[AXES]; /* of points */
} Cell;

typedef struct {
    int q;                       /* slices along an axis, cells of a PE */
    int widest;                  /* points of a slice, at most */
    int neighbour[AXES][SIDES];  /* PE that owns the neighbouring cells */
    Cell cells[MOST_CELLS];
} Partition;

extern Partition partition;

/* Distributes the problem; ends the job if the number of PEs is not possible. */
void partition_make(void);

/* Points of a slice. */
int slice_count(int slice);

/* Number of this PE's cell in a slice along an axis. */
int cell_in_slice(enum axis axis, int slice);

/* Number, on its PE, of the neighbour of one of this PE's cells. */
int cell_beside(int cell, enum axis axis, enum side side);

#endif
