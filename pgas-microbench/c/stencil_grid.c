/* The grid of the five-point stencil. */
#include "stencil_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

struct rows rows_of(int pe, int pes)
{
    int first = (int)((long)INNER * pe / pes), end = (int)((long)INNER * (pe + 1) / pes);
    return (struct rows){
        .first = first + 1,
        .count = end - first,
        .above = pe > 0 ? pe - 1 : -1,
        .below = pe < pes - 1 ? pe + 1 : -1,
    };
}

void relax(const double *old, double *new, int count, const double *above, const double *below)
{
#pragma omp parallel for schedule(static)
    for (int row = 1; row <= count; row++) {
        const double *here = old + (size_t)row * GRID;
        const double *north = row == 1 ? above : here - GRID;
        const double *south = row == count ? below : here + GRID;
        double *to = new + (size_t)row * GRID;
        for (int i = 1; i <= INNER; i++)
            to[i] = 0.25 * (north[i] + south[i] + here[i - 1] + here[i + 1]);
    }
}

const char *stencil_name(void)
{
#ifdef _OPENMP
    return omp_get_max_threads() > 1 ? "five_point_threads" : "five_point";
#else
    return "five_point";
#endif
}

/* The state of a point at the beginning. No two rows or columns are alike. */
static double initial(int row, int column)
{
    return 1 + (double)((row * 7919 + column * 104729) % 10007) / 10007;
}

static void fill_row(double *to, int row)
{
    for (int i = 0; i < GRID; i++)
        to[i] = initial(row, i);
}

/* Rows of the largest block, and those beside it. */
static size_t block_bytes(size_t bytes, int pes)
{
    (void)bytes;
    return (size_t)(INNER / pes + 3) * ROW_BYTES;
}

/* The rows of other PEs are left to the exchange; borders are the same in both arrays. */
static void fill(const struct transfer *t)
{
    struct rows rows = rows_of(t->me, t->pes);
    double *arrays[] = {(double *)t->source, (double *)t->dest};
    for (int a = 0; a < 2; a++) {
        memset(arrays[a], 0, (size_t)(rows.count + 2) * ROW_BYTES);
        for (int row = 0; row <= rows.count + 1; row++) {
            bool is_other = (row == 0 && rows.above >= 0) || (row > rows.count && rows.below >= 0);
            if (!is_other)
                fill_row(row_at(arrays[a], row), rows.first - 1 + row);
        }
    }
}

/* Computes the rows again, with as many on both sides as they depend on. */
static bool check(const struct transfer *t, long repetitions)
{
    struct rows rows = rows_of(t->me, t->pes);
    int steps = (int)repetitions;
    int first = rows.first - steps > 1 ? rows.first - steps : 1;
    int last = rows.first + rows.count - 1 + steps;
    if (last > INNER)
        last = INNER;
    int count = last - first + 1;
    size_t size = (size_t)(count + 2) * GRID;
    double *old = malloc(size * sizeof *old), *new = malloc(size * sizeof *new);
    if (old == NULL || new == NULL)
        abort();
    for (int row = 0; row <= count + 1; row++) {
        fill_row(row_at(old, row), first - 1 + row);
        fill_row(row_at(new, row), first - 1 + row);
    }
    for (int step = 0; step < steps; step++) {
        relax(old, new, count, old, row_at(old, count + 1));
        swap_states(&old, &new);
    }
    double *mine = (double *)(steps % 2 == 0 ? t->source : t->dest);
    bool right = true;
    for (int row = 1; row <= rows.count; row++)
        for (int i = 0; i < GRID; i++) {
            double expected = row_at(old, rows.first - first + row)[i];
            right = right && fabs(row_at(mine, row)[i] - expected) <= 1e-12;
        }
    free(old);
    free(new);
    return right;
}

const struct data grid_data = {block_bytes, block_bytes, fill, check};
