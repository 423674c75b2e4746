/* Multi-partition scheme: J. Bruno and P. R. Cappello, Implementing the beam and warming method
 * on the hypercube, 1988; R. F. Van der Wijngaart, Efficient implementation of a 3-dimensional
 * ADI method on the iPSC/860, 1993. */
#include "partition.h"

#include <shmem.h>

#include "benchmark.h"

Partition partition;

static int column, line; /* of this PE in the q x q PEs */

static int wrap(int slice)
{
    return (slice + partition.q) % partition.q;
}

static int pe_at(int x, int y)
{
    return wrap(y) * partition.q + wrap(x);
}

static int slice_first(int slice)
{
    return 1 + (problem.points - 2) * slice / partition.q;
}

int slice_count(int slice)
{
    return slice_first(slice + 1) - slice_first(slice);
}

int cell_in_slice(enum axis axis, int slice)
{
    static const int *const shift[AXES] = {[X] = &column, [Y] = &line};
    return axis == Z ? slice : wrap(slice - *shift[axis]);
}

int cell_beside(int cell, enum axis axis, enum side side)
{
    if (axis != Z)
        return cell;
    return wrap(side == HIGH ? cell + 1 : cell - 1);
}

/* Cell c lies in slices column + c, line + c and c: along z, the same slices of x and y one cell
 * further are those of the PE one column and one line before. */
static void find_neighbours(void)
{
    for (int side = LOW; side < SIDES; side++) {
        int step = side == HIGH ? 1 : -1;
        partition.neighbour[X][side] = pe_at(column + step, line);
        partition.neighbour[Y][side] = pe_at(column, line + step);
        partition.neighbour[Z][side] = pe_at(column - step, line - step);
    }
}

static void place_cells(void)
{
    for (int c = 0; c < partition.q; c++) {
        Cell *cell = &partition.cells[c];
        cell->slice[X] = wrap(column + c);
        cell->slice[Y] = wrap(line + c);
        cell->slice[Z] = c;
        for (int axis = X; axis < AXES; axis++) {
            cell->first[axis] = slice_first(cell->slice[axis]);
            cell->count[axis] = slice_count(cell->slice[axis]);
        }
    }
}

void partition_make(void)
{
    int pes = shmem_n_pes(), q = 1;
    int most = (problem.points - 2) / GHOSTS; /* ghost layers all come from the next cell */
    while (q * q < pes)
        q++;
    if (q * q != pes)
        refuse("the number of PEs must be a square, it is %d", pes);
    if (q > most)
        refuse("class %c runs on at most %d PEs, not on %d", problem.class, most * most, pes);
    partition.q = q;
    partition.widest = (problem.points - 2 + q - 1) / q;
    column = shmem_my_pe() % q;
    line = shmem_my_pe() / q;
    find_neighbours();
    place_cells();
}
