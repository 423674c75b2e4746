/* Heat flow on a square plate, its rows divided among the PEs; neighbours' border rows are
 * written directly, by stores through shmem_ptr.
 *
 *     oshcc heat.c -O2 -o heat && oshrun -n 4 ./heat [STEPS]
 *
 * The top edge is hot, the others are cold; each step replaces every inner point by the mean
 * of its four neighbours. PE 0 repeats the computation alone and compares every point: the
 * same operations in the same order, so the results must agree to the last bit.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 256 }; /* inner rows and columns of the plate */
enum { WIDTH = SIZE + 2 };
#define HOT 100.0

typedef double row[WIDTH];

static uint64_t steps_of_upper, steps_of_lower; /* steps whose rows have arrived */

/* One step for `rows` rows, which start at in[1] and out[1]. */
static void relax(size_t rows, row *out, row *in)
{
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= SIZE; j++)
            out[i][j] = 0.25 * (in[i - 1][j] + in[i + 1][j] + in[i][j - 1] + in[i][j + 1]);
}

/* Writes the row `mine` to the row `theirs` of PE `pe`: by stores if shmem_ptr gives the address of
 * the PE's memory, else by a put. */
static void give(row *theirs, row *mine, int pe)
{
    double *there = shmem_ptr(theirs, pe);
    if (there != NULL)
        memcpy(there, mine, sizeof(row));
    else
        shmem_double_put(*theirs, *mine, WIDTH, pe);
}

static void heat_top(row *plate)
{
    for (size_t j = 0; j < WIDTH; j++)
        plate[0][j] = HOT;
}

static size_t first_row(int pe, int n)
{
    return (size_t)SIZE * (size_t)pe / (size_t)n;
}

/* Computes the whole plate and counts the points in which the PEs' rows differ from it. */
static long differences(uint64_t steps, int n, row *distributed)
{
    row *plate[2] = {calloc(WIDTH, sizeof(row)), calloc(WIDTH, sizeof(row))};
    row *rows = malloc(WIDTH * sizeof(row));
    if (plate[0] == NULL || plate[1] == NULL || rows == NULL) {
        fprintf(stderr, "heat: no memory for the serial result\n");
        shmem_global_exit(EXIT_FAILURE);
    }
    heat_top(plate[0]);
    heat_top(plate[1]);
    for (uint64_t step = 0; step < steps; step++)
        relax(SIZE, plate[(step + 1) % 2], plate[step % 2]);

    long different = 0;
    for (int pe = 0; pe < n; pe++) {
        size_t first = first_row(pe, n);
        size_t count = first_row(pe + 1, n) - first;
        shmem_double_get(rows[0], distributed[1], count * WIDTH, pe);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 1; j <= SIZE; j++)
                different += rows[i][j] != plate[steps % 2][1 + first + i][j];
    }
    free(plate[0]);
    free(plate[1]);
    free(rows);
    return different;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    int n = shmem_n_pes();
    uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 500;
    if (n > SIZE) {
        if (me == 0)
            fprintf(stderr, "heat: %d PEs share %d rows: use at most %d PEs\n", n, SIZE, SIZE);
        shmem_finalize();
        return EXIT_FAILURE;
    }
    size_t rows = first_row(me + 1, n) - first_row(me, n);
    size_t most = (size_t)SIZE / (size_t)n + 1; /* the same on all PEs */
    row *part[2] = {shmem_calloc(most + 2, sizeof(row)), shmem_calloc(most + 2, sizeof(row))};
    if (part[0] == NULL || part[1] == NULL) {
        fprintf(stderr, "heat: PE %d: no symmetric memory for %zu rows\n", me, 2 * (most + 2));
        shmem_global_exit(EXIT_FAILURE);
    }
    if (me == 0) {
        heat_top(part[0]);
        heat_top(part[1]);
    }

    for (uint64_t step = 0; step < steps; step++) {
        row *in = part[step % 2], *out = part[(step + 1) % 2];
        /* A neighbour that has sent its rows of the previous step has already read the rows of the
         * step before, so two buffers are enough. */
        if (me > 0)
            shmem_uint64_wait_until(&steps_of_upper, SHMEM_CMP_GE, step);
        if (me < n - 1)
            shmem_uint64_wait_until(&steps_of_lower, SHMEM_CMP_GE, step);
        relax(rows, out, in);
        if (me > 0) {
            size_t upper = first_row(me, n) - first_row(me - 1, n);
            give(&out[upper + 1], &out[1], me - 1);
        }
        if (me < n - 1)
            give(&out[0], &out[rows], me + 1);
        shmem_fence(); /* the rows before the signals */
        if (me > 0)
            shmem_uint64_atomic_inc(&steps_of_lower, me - 1);
        if (me < n - 1)
            shmem_uint64_atomic_inc(&steps_of_upper, me + 1);
    }
    shmem_barrier_all();

    long different = me == 0 ? differences(steps, n, part[steps % 2]) : 0;
    if (different != 0)
        fprintf(stderr, "heat: %ld points differ from the serial result\n", different);
    else if (me == 0)
        printf("heat: %d x %d points, %llu steps on %d PEs, as the serial result\n", SIZE, SIZE,
               (unsigned long long)steps, n);
    shmem_barrier_all();
    shmem_free(part[1]);
    shmem_free(part[0]);
    shmem_finalize();
    return different != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
