/* Topological sort: rows and columns of a sparse matrix are put in an order in which it is upper triangular.
 *
 *     oshcc -O2 topological_sort.c -o topological_sort
 *     oshrun -n 4 ./topological_sort [rows]
 *
 * The matrix is upper triangular with a full diagonal; then its rows and columns are numbered anew. The sort finds such
 * an order again. A row with one entry left is the last one of those that are left, as its column is. Then the entries
 * of that column are removed, and other rows have one left. Each row knows how many are left, and the sum of their
 * columns.
 *
 * Of n PEs, PE p has rows and columns i with i % n == p. Pivots go to the PEs of their columns by one stream, removals
 * to the PEs of their rows by another. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct pivot {
    uint32_t column, position;
};
struct removal {
    uint32_t row, column;
};
/* Items that wait for room. */
struct queue {
    struct removal *items;
    long begin, end;
};

static uint32_t n, rows, shift_rows, shift_columns;

/* The numbers in the triangular order: rows and columns are multiplied by a number without common divisor. */
static uint32_t old_row(uint32_t r) { return (uint32_t)((uint64_t)r * shift_rows % rows); }
static uint32_t old_column(uint32_t c) { return (uint32_t)((uint64_t)c * shift_columns % rows); }

static int is_entry(uint32_t row, uint32_t column)
{
    uint32_t r = old_row(row), c = old_column(column);
    uint64_t x = ((uint64_t)r << 32 | c) * 0x9e3779b97f4a7c15u;
    return r == c || (r < c && ((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 40) % 30 == 0);
}

static uint32_t coprime(uint32_t from)
{
    for (uint32_t k = from;; k++) {
        uint32_t a = k, b = rows;
        while (b != 0) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return k;
    }
}

int main(int argc, char **argv)
{
    rows = argc > 1 ? (uint32_t)atol(argv[1]) : 1500;
    shmem_init();
    n = (uint32_t)shmem_n_pes();
    uint32_t me = (uint32_t)shmem_my_pe(), own = rows / n + 1, mine = 0, popped = 0;
    shift_rows = coprime(rows / 3 + 1);
    shift_columns = coprime(rows / 2 + 1);
    uint32_t *left = calloc(own, sizeof *left), *sum = calloc(own, sizeof *sum);
    uint32_t *row_at = shmem_calloc(own, sizeof *row_at), *column_at = shmem_calloc(own, sizeof *column_at);
    static uint32_t next; /* on PE 0: pivots so far */
    long entries = 0;
    struct queue pivots_out = {calloc(own, sizeof(struct removal)), 0, 0};
    for (uint32_t r = me; r < rows; r += n, mine++) {
        for (uint32_t c = 0; c < rows; c++)
            if (is_entry(r, c)) {
                left[r / n]++;
                sum[r / n] += c;
            }
        if (left[r / n] == 1)
            pivots_out.items[pivots_out.end++].row = r;
    }
    for (uint32_t c = me; c < rows; c += n)
        for (uint32_t r = 0; r < rows; r++)
            entries += is_entry(r, c);
    struct queue removals_out = {malloc((size_t)(entries + 1) * sizeof(struct removal)), 0, 0};
    shmem_barrier_all();

    shmemx_stream_t pivots, removals;
    if (shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct pivot), SHMEMX_STREAM_STEADY, &pivots) != 0 ||
        shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct removal), SHMEMX_STREAM_STEADY, &removals) != 0)
        shmem_global_exit(1);
    int has_ended_pivots = 0, has_ended_removals = 0;
    struct pivot out;
    int has_out = 0;
    while (!shmemx_stream_done(removals)) {
        while (has_out || pivots_out.begin < pivots_out.end) {
            if (!has_out) {
                uint32_t r = pivots_out.items[pivots_out.begin++].row;
                out.position = rows - 1 - shmem_uint32_atomic_fetch_add(&next, 1, 0);
                out.column = sum[r / n];
                row_at[r / n] = out.position;
                has_out = 1;
            }
            if (!shmemx_stream_push(pivots, &out, (int)(out.column % n)))
                break;
            has_out = 0;
            popped++;
        }
        if (popped == mine && !has_ended_pivots) {
            shmemx_stream_end(pivots);
            has_ended_pivots = 1;
        }
        struct pivot p;
        while (shmemx_stream_pull(pivots, &p, NULL)) {
            column_at[p.column / n] = p.position;
            for (uint32_t r = 0; r < rows; r++)
                if (is_entry(r, p.column))
                    removals_out.items[removals_out.end++] = (struct removal){r, p.column};
        }
        for (; removals_out.begin < removals_out.end; removals_out.begin++) {
            struct removal *item = &removals_out.items[removals_out.begin];
            if (!shmemx_stream_push(removals, item, (int)(item->row % n)))
                break;
        }
        if (removals_out.begin == removals_out.end && !has_ended_removals && shmemx_stream_done(pivots)) {
            shmemx_stream_end(removals);
            has_ended_removals = 1;
        }
        struct removal removed;
        while (shmemx_stream_pull(removals, &removed, NULL)) {
            uint32_t at = removed.row / n;
            sum[at] -= removed.column;
            if (--left[at] == 1)
                pivots_out.items[pivots_out.end++].row = removed.row;
        }
    }
    shmemx_stream_destroy(removals);
    shmemx_stream_destroy(pivots);

    shmem_barrier_all();
    long wrong = 0;
    for (uint32_t r = me; r < rows; r += n)
        for (uint32_t c = 0; c < rows; c++)
            if (is_entry(r, c))
                wrong += row_at[r / n] > shmem_uint32_g(&column_at[c / n], (int)(c % n));
    if (me == 0)
        printf("%u rows sorted\n", rows);
    if (wrong)
        fprintf(stderr, "PE %u: %ld entries are below the diagonal\n", me, wrong);
    shmem_finalize();
    return wrong != 0;
}
