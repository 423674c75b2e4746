/* Exchange of the halo of 2D tiles, by shape: 8 MiB on each PE, from one column to one row. A step puts the first and
 * the last row and column of the tile to the four neighbours. The threads of a PE meet after each step: the first one
 * communicates, and the others wait, and take part in its copies where they can. */
#include <shmem.h>
#include <stdint.h>

#include "halo_tile.h"
#include "job.h"
#include "keep.h"
#include "lend.h"
#include "program.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Steps so far of the neighbours by their side: set by them. */
static uint64_t arrived[SIDES];
static uint64_t step;

/* What a step puts: `count` points, `apart` from each other on both PEs. */
struct line {
    size_t from, to; /* first points, from the begin of the array */
    size_t count;
    ptrdiff_t apart;
    int pe;
};

static void lines_of(const struct transfer *t, struct line lines[SIDES])
{
    const struct tile tile = tile_of(t->bytes);
    const struct neighbours next = neighbours_of(t->me, t->pes);
    const size_t pitch = pitch_of(tile);
    const struct line all[SIDES] = {
        [ABOVE] = {pitch + 1, (tile.height + 1) * pitch + 1, tile.width, 1, next.pe[ABOVE]},
        [BELOW] = {tile.height * pitch + 1, 1, tile.width, 1, next.pe[BELOW]},
        [LEFT] = {pitch + 1, pitch + tile.width + 1, tile.height, (ptrdiff_t)pitch, next.pe[LEFT]},
        [RIGHT] = {pitch + tile.width, pitch, tile.height, (ptrdiff_t)pitch, next.pe[RIGHT]},
    };
    for (int side = 0; side < SIDES; side++)
        lines[side] = all[side];
}

typedef void put_function(double *array, const struct line *line);

static void put_line(double *array, const struct line *line)
{
    double *const to = array + line->to;
    const double *const from = array + line->from;
    if (line->apart == 1)
        shmem_double_put(to, from, line->count, line->pe);
    else
        shmem_double_iput(to, from, line->apart, line->apart, line->count, line->pe);
}

static void store_line(double *array, const struct line *line)
{
    double *const to = (double *)shmem_ptr(array, line->pe) + line->to;
    const double *const from = array + line->from;
    for (size_t i = 0; i < line->count; i++)
        to[(ptrdiff_t)i * line->apart] = from[(ptrdiff_t)i * line->apart];
    keep_memory();
}

/* All lines, and then the step to each neighbour; its lines are there when its step is. */
static void exchange(double *array, const struct line lines[SIDES], put_function *put)
{
    step++;
    for (int side = 0; side < SIDES; side++)
        put(array, &lines[side]);
    shmem_quiet();
    for (int side = 0; side < SIDES; side++)
        shmem_uint64_p(&arrived[opposite((enum side)side)], step, lines[side].pe);
    for (int side = 0; side < SIDES; side++)
        shmem_uint64_wait_until(&arrived[side], SHMEM_CMP_GE, step);
}

static void steps(const struct transfer *t, long repetitions, put_function *put)
{
    double *const array = (double *)t->source;
    struct line lines[SIDES];
    lines_of(t, lines);
#pragma omp parallel
    for (long r = 0; r < repetitions; r++) {
#ifdef _OPENMP
        if (omp_get_thread_num() > 0)
            lend_until_end(r);
        else
#endif
        {
            exchange(array, lines, put);
            end_step(r);
        }
#pragma omp barrier
    }
}

static void call(const struct transfer *transfer, long repetitions)
{
    steps(transfer, repetitions, put_line);
}

static void ptr(const struct transfer *transfer, long repetitions)
{
    steps(transfer, repetitions, store_line);
}

static bool reaches_neighbours(const struct transfer *t)
{
    const struct neighbours next = neighbours_of(t->me, t->pes);
    bool reaches = true;
    for (int side = 0; side < SIDES; side++)
        reaches = reaches && shmem_ptr(t->source, next.pe[side]) != NULL;
    return reaches;
}

int main(int argc, char **argv)
{
    const char *name = halo_name();
    const struct operation operations[] = {
        {name, "call", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &tile_data, call, NULL},
        {name, "ptr", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &tile_data, ptr, reaches_neighbours},
    };
    const struct program program = {
        .name = "halo",
        .what = "time to exchange the halo of a tile of 8 MiB with four neighbours, by the bytes of a row",
        .windows = true,
        .least = sizeof(double),
        .operations = operations,
        .count = sizeof operations / sizeof *operations,
    };
    return program_run(&program, argc, argv);
}
