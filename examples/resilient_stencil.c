/* Heat flow on a square plate, on PEs that may be killed at any time: the others go on
 * (resilient.h).
 *
 *     oshcc resilient_stencil.c -O2 -o resilient_stencil
 *     oshrun -n 4 ./resilient_stencil shrink [STEPS]     # the PEs that are left share the rows
 *     oshrun -n 4 ./resilient_stencil replace [STEPS]    # new processes take the lost numbers
 *
 * Kill any PE, with any signal, once PE 0 has printed "resilient". In the end, each PE computes the
 * plate alone and compares all PEs' rows, to the last bit.
 */
#include "resilient.h"

#define HOT 100.0

static void relax(int first, int end, row *out, row *in)
{
    for (int i = first; i < end; i++)
        for (int j = 1; j <= SIZE; j++)
            out[i][j] = 0.25 * (in[i - 1][j] + in[i + 1][j] + in[i][j - 1] + in[i][j + 1]);
}

/* The upper edge is hot. */
static void prepare(void)
{
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < WIDTH; j++)
            heap.vector[k][0][0][j] = HOT;
}

static int compute(uint64_t step)
{
    row *in = heap.vector[step % 2][0], *out = heap.vector[(step + 1) % 2][0];
    if (shmem_team_sync(team) != 0) /* all have completed the step before */
        return -1;
    if (get_border(in) != 0)
        return -1;
    relax(first_row(me), first_row(me + 1), out, in);
    complete(step + 1);
    return 0;
}

/* The rows that differ from those that one PE computes. Memory of PEs that are lost meanwhile stays
 * readable on their node. */
static int differences(uint64_t steps)
{
    static row plate[2][WIDTH], theirs;
    int different = 0;
    for (int j = 0; j < WIDTH; j++)
        plate[0][0][j] = plate[1][0][j] = HOT;
    for (uint64_t step = 0; step < steps; step++)
        relax(1, SIZE + 1, plate[(step + 1) % 2], plate[step % 2]);
    for (int i = 1; i <= SIZE; i++) {
        shmem_getmem(theirs, heap.vector[steps % 2][0][i], sizeof(row), owner(i));
        different += !is_gone(owner(i)) && memcmp(theirs, plate[steps % 2][i], sizeof(row)) != 0;
    }
    return different;
}

int main(int argc, char **argv)
{
    uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    shmem_init();
    vectors = 1;
    run(steps, argc > 1 && strcmp(argv[1], "replace") == 0, prepare, compute);
    int different = differences(steps);
    if (different != 0)
        fprintf(stderr, "stencil: PE %d: %d rows differ from the serial result\n", shmem_my_pe(),
                different);
    else
        printf("stencil: PE %d of %d: %llu steps, as the serial result\n", me, n,
               (unsigned long long)steps);
    fflush(stdout);
    shmem_finalize();
    return different != 0;
}
