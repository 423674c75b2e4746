/* The five-point stencil on a grid of 1282 x 1282 points, whose rows are spread over the PEs: time of a step. In each
 * one, neighbours exchange the rows at their border: by puts with signals, or by loads through shmem_ptr after signals
 * alone. */
#include <shmem.h>
#include <stdint.h>

#include "job.h"
#include "program.h"
#include "put_signal.h"
#include "stencil_grid.h"

/* Steps so far of the PE above and below: set by them. */
static uint64_t step_above, step_below;
static uint64_t step;

/* The neighbours' rows of the state before this step are there, and they have read those of the state before. */
static void await_neighbours(const struct rows *rows)
{
    if (rows->above >= 0)
        shmem_uint64_wait_until(&step_above, SHMEM_CMP_GE, step);
    if (rows->below >= 0)
        shmem_uint64_wait_until(&step_below, SHMEM_CMP_GE, step);
}

static void call(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    const struct rows rows = rows_of(t.me, t.pes);
    double *old = (double *)t.source, *new = (double *)t.dest;
    for (long r = 0; r < repetitions; r++) {
        step++;
        if (rows.above >= 0) {
            int last = rows_of(rows.above, t.pes).count + 1;
            PUT_SIGNAL(row_at(old, last), row_at(old, 1), ROW_BYTES, &step_below, step, rows.above);
        }
        if (rows.below >= 0)
            PUT_SIGNAL(old, row_at(old, rows.count), ROW_BYTES, &step_above, step, rows.below);
        await_neighbours(&rows);
        relax(old, new, rows.count, old, row_at(old, rows.count + 1));
        swap_states(&old, &new);
    }
}

/* A row of another PE, or of the border. */
static const double *row_of(double *array, int row, int pe)
{
    double *at = row_at(array, row);
    return pe < 0 ? at : shmem_ptr(at, pe);
}

static void ptr(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    const struct rows rows = rows_of(t.me, t.pes);
    const int last_above = rows.above >= 0 ? rows_of(rows.above, t.pes).count : 0;
    const int first_below = rows.below >= 0 ? 1 : rows.count + 1;
    double *old = (double *)t.source, *new = (double *)t.dest;
    for (long r = 0; r < repetitions; r++) {
        step++;
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the rows before the signals */
        if (rows.above >= 0)
            shmem_uint64_p(&step_below, step, rows.above);
        if (rows.below >= 0)
            shmem_uint64_p(&step_above, step, rows.below);
        await_neighbours(&rows);
        relax(old, new, rows.count, row_of(old, last_above, rows.above),
              row_of(old, first_below, rows.below));
        swap_states(&old, &new);
    }
}

static bool reaches_neighbours(const struct transfer *t)
{
    const struct rows rows = rows_of(t->me, t->pes);
    return (rows.above < 0 || shmem_ptr(t->source, rows.above) != NULL)
           && (rows.below < 0 || shmem_ptr(t->source, rows.below) != NULL);
}

int main(int argc, char **argv)
{
    const char *name = stencil_name();
    const struct operation operations[] = {
        {name, "call", OWN_LATENCY, NO_SIZE, EVERYONE, 1, &grid_data, call, NULL},
        {name, "ptr", OWN_LATENCY, NO_SIZE, EVERYONE, 1, &grid_data, ptr, reaches_neighbours},
    };
    const struct program program = {
        .name = "stencil",
        .what = "time of a step of the five-point stencil on 1282 x 1282 points",
        .windows = true,
        .least = 1,
        .most_pes = INNER,
        .operations = operations,
        .count = sizeof operations / sizeof *operations,
    };
    return program_run(&program, argc, argv);
}
