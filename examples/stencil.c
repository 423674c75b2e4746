/* The five-point stencil on a square of points, its rows divided among the PEs; border rows are
 * sent by puts with signals.
 *
 *     oshcc -O3 stencil.c -lm -o stencil && oshrun -n 4 ./stencil [ITERATIONS [SIZE]]
 *
 * Each iteration replaces every inner point by the mean of its four neighbours; the border stays
 * as it is. The square begins as a wave, a product of sines that vanishes at the border: an
 * iteration then multiplies every point by the same factor, so each PE knows what its points
 * must be in the end.
 */
#include <shmem.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_ITERATIONS = 100, DEFAULT_SIZE = 1282 };

static const double PI = 3.14159265358979323846;
static const double WAVES_DOWN = 3, WAVES_ACROSS = 5; /* half waves */

static int me, n;
static size_t size; /* points in a row, and rows */

/* Symmetric: number of rows that have arrived from above and from below. */
static uint64_t from_above, from_below;
static long wrong, all_wrong;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The first inner row of a PE, in the whole square. */
static size_t first_row(int pe)
{
    return 1 + (size - 2) * (size_t)pe / (size_t)n;
}

/* One of the sines: 0 at both ends. */
static double wave(double waves, size_t at)
{
    return sin(waves * PI * (double)at / (double)(size - 1));
}

/* The factor by which the iterations multiply the points. */
static double factor(uint64_t iterations)
{
    double step = PI / (double)(size - 1);
    return pow(0.5 * (cos(WAVES_DOWN * step) + cos(WAVES_ACROSS * step)), (double)iterations);
}

/* One iteration for the rows of this PE, which start after a row of a neighbour or the border. */
static void relax(size_t rows, double *restrict to, const double *restrict from)
{
    for (size_t row = 1; row <= rows; row++) {
        const double *here = from + row * size, *above = here - size, *below = here + size;
        for (size_t i = 1; i + 1 < size; i++)
            to[row * size + i] = 0.25 * (above[i] + below[i] + here[i - 1] + here[i + 1]);
    }
}

/* Puts the first and last row of this PE into the adjacent rows of the neighbours. Two squares
 * alternate: a neighbour that sends its rows of an iteration has used the rows of the iteration
 * before, so it is at most one iteration ahead. */
static void exchange(double *mine, size_t rows, uint64_t iteration)
{
    if (me > 0) {
        size_t after_last = first_row(me) - first_row(me - 1) + 1;
        shmem_double_put_signal(mine + after_last * size, mine + size, size, &from_below,
                                iteration + 1, SHMEM_SIGNAL_SET, me - 1);
    }
    if (me < n - 1)
        shmem_double_put_signal(mine, mine + rows * size, size, &from_above, iteration + 1,
                                SHMEM_SIGNAL_SET, me + 1);
    if (me > 0)
        shmem_signal_wait_until(&from_above, SHMEM_CMP_GE, iteration + 1);
    if (me < n - 1)
        shmem_signal_wait_until(&from_below, SHMEM_CMP_GE, iteration + 1);
}

/* The number of points of this PE that differ from the wave. Each iteration rounds a few times;
 * a row of another iteration would be off by much more. */
static long differences(const double *mine, size_t rows, uint64_t iterations)
{
    double height = factor(iterations), tolerance = 1e-15 * (double)(iterations + 10);
    long different = 0;
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < size; i++) {
            double expected = height * wave(WAVES_DOWN, first_row(me) + row) * wave(WAVES_ACROSS, i);
            different += !(fabs(mine[(row + 1) * size + i] - expected) < tolerance);
        }
    return different;
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    uint64_t iterations = argc > 1 ? strtoull(argv[1], NULL, 10) : DEFAULT_ITERATIONS;
    size = argc > 2 ? strtoull(argv[2], NULL, 10) : DEFAULT_SIZE;
    if (size < (size_t)n + 2) {
        if (me == 0)
            fprintf(stderr, "stencil: %d PEs share %zu rows, two of them border: use fewer PEs\n", n,
                    size);
        shmem_finalize();
        return EXIT_FAILURE;
    }

    size_t rows = first_row(me + 1) - first_row(me);
    size_t points = ((size - 2) / (size_t)n + 3) * size; /* the same on all PEs */
    double *square[2] = {shmem_malloc(points * sizeof(double)), shmem_malloc(points * sizeof(double))};
    if (square[0] == NULL || square[1] == NULL) {
        fprintf(stderr, "stencil: PE %d: no symmetric memory for %zu points\n", me, 2 * points);
        shmem_global_exit(EXIT_FAILURE);
    }
    for (size_t row = 0; row < rows + 2; row++)
        for (size_t i = 0; i < size; i++)
            square[0][row * size + i] =
                wave(WAVES_DOWN, first_row(me) - 1 + row) * wave(WAVES_ACROSS, i);
    memcpy(square[1], square[0], (rows + 2) * size * sizeof(double));

    shmem_barrier_all();
    double begin = seconds();
    for (uint64_t iteration = 0; iteration < iterations; iteration++) {
        double *now = square[iteration % 2], *next = square[(iteration + 1) % 2];
        exchange(now, rows, iteration);
        relax(rows, next, now);
    }
    shmem_barrier_all();
    double took = seconds() - begin;

    wrong = differences(square[iterations % 2], rows, iterations);
    int failed = shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1) != 0 || all_wrong > 0;
    if (me == 0) {
        double updates = (double)((size - 2) * (size - 2)) * (double)iterations;
        printf("stencil: %zu x %zu points, %llu iterations on %d PEs: %.3f s, %.0f Mpoints/s\n", size,
               size, (unsigned long long)iterations, n, took, 1e-6 * updates / took);
        if (failed)
            fprintf(stderr, "stencil: %ld points differ from the wave\n", all_wrong);
    }
    shmem_free(square[1]);
    shmem_free(square[0]);
    shmem_finalize();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
