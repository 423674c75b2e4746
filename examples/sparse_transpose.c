/* Transpose of a sparse matrix in compressed rows.
 *
 *     oshcc -O2 sparse_transpose.c -o sparse_transpose
 *     oshrun -n 4 ./sparse_transpose [rows]
 *
 * Of n PEs, PE p has the rows r with r % n == p. A first use of the stream counts the entries of each column, a second
 * one brings them. To verify, each PE looks at all entries of its columns. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
    uint32_t row, column;
    double value;
};

static int is_entry(uint32_t r, uint32_t c)
{
    uint64_t x = ((uint64_t)r << 32 | c) * 0x9e3779b97f4a7c15u;
    x ^= x >> 31;
    return (x * 0x94d049bb133111ebu >> 40) % 20 == 0;
}

static double value_of(uint32_t r, uint32_t c) { return r + c * 1e-6; }

static uint32_t n, rows;
static uint32_t *start, *filled, *row_of; /* of the transposed matrix: where rows begin, how far they are filled */
static double *value;

static void take(shmemx_stream_t stream, int is_counting)
{
    struct entry e;
    while (shmemx_stream_pull(stream, &e, NULL)) {
        uint32_t at = e.column / n;
        if (!is_counting) {
            uint32_t place = start[at] + filled[at];
            row_of[place] = e.row;
            value[place] = e.value;
        }
        filled[at]++;
    }
}

static void send_all(shmemx_stream_t stream, uint32_t me, int is_counting)
{
    for (uint32_t r = me; r < rows; r += n)
        for (uint32_t c = 0; c < rows; c++)
            if (is_entry(r, c)) {
                struct entry e = {r, c, value_of(r, c)};
                while (!shmemx_stream_push(stream, &e, (int)(c % n)))
                    take(stream, is_counting);
            }
    shmemx_stream_end(stream);
    while (shmemx_stream_wait(stream))
        take(stream, is_counting);
}

int main(int argc, char **argv)
{
    rows = argc > 1 ? (uint32_t)atol(argv[1]) : 2000;
    shmem_init();
    n = (uint32_t)shmem_n_pes();
    uint32_t me = (uint32_t)shmem_my_pe(), own = rows / n + 1;
    start = calloc(own + 1, sizeof *start);
    filled = calloc(own, sizeof *filled);
    shmemx_stream_t stream;
    if (shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct entry), 0, &stream) != 0)
        shmem_global_exit(1);
    send_all(stream, me, 1);
    for (uint32_t i = 0; i < own; i++) {
        start[i + 1] = start[i] + filled[i];
        filled[i] = 0;
    }
    row_of = malloc((start[own] + 1) * sizeof *row_of);
    value = malloc((start[own] + 1) * sizeof *value);
    shmemx_stream_reset(stream);
    send_all(stream, me, 0);
    shmemx_stream_destroy(stream);

    static long mine[2], all[2]; /* entries, and those that are wrong or missing */
    char *seen = calloc(rows, 1);
    for (uint32_t c = me; c < rows; c += n) {
        for (uint32_t i = start[c / n]; i < start[c / n + 1]; i++) {
            seen[row_of[i]]++;
            mine[1] += value[i] != value_of(row_of[i], c);
        }
        for (uint32_t r = 0; r < rows; r++) {
            mine[0] += is_entry(r, c);
            mine[1] += seen[r] != is_entry(r, c);
            seen[r] = 0;
        }
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 2);
    if (me == 0)
        printf("%ld entries transposed\n", all[0]);
    if (mine[1])
        fprintf(stderr, "PE %u: %ld entries are wrong\n", me, mine[1]);
    shmem_finalize();
    return all[1] != 0;
}
