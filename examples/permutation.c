/* A random permutation: each PE throws its numbers at a board of twice as many places, until each has a place of its
 * own.
 *
 *     oshcc -O2 permutation.c -o permutation
 *     oshrun -n 4 ./permutation [numbers per PE]
 *
 * A throw is an item of one stream, and whether it has hit an item of another. What misses is thrown again. The numbers
 * in the order of their places are the permutation. To verify, each number is sent to the PE that had it. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct dart {
    uint64_t number, place;
};

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 100000;
    shmem_init();
    uint64_t n = (uint64_t)shmem_n_pes(), me = (uint64_t)shmem_my_pe(), state = me + 1;
    uint64_t places = 2 * (uint64_t)count;
    uint64_t *board = calloc(places, sizeof *board); /* a number and 1; 0: free */
    uint64_t *hand = malloc((size_t)count * sizeof *hand);
    long in_hand = 0, in_the_air = 0, dart;
    for (long i = 0; i < count; i++)
        hand[in_hand++] = me * (uint64_t)count + (uint64_t)i;

    /* Steady: the last throws of a PE wait for each other's answers. */
    shmemx_stream_t darts, answers;
    if (shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct dart), SHMEMX_STREAM_STEADY, &darts) != 0 ||
        shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(uint64_t), SHMEMX_STREAM_STEADY, &answers) != 0)
        shmem_global_exit(1);
    for (int is_ended = 0; !shmemx_stream_done(darts);) {
        for (dart = 0; in_hand > 0 && dart < 100; dart++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t place = (state >> 30) % (places * n);
            struct dart d = {hand[in_hand - 1], place / n};
            if (!shmemx_stream_push(darts, &d, (int)(place % n)))
                break;
            in_hand--;
            in_the_air++;
        }
        struct dart d;
        int pe;
        uint64_t missed;
        while (shmemx_stream_pull(darts, &d, &pe)) {
            uint64_t answer = board[d.place] != 0 ? d.number + 1 : 0;
            if (board[d.place] == 0)
                board[d.place] = d.number + 1;
            while (!shmemx_stream_push(answers, &answer, pe))
                while (shmemx_stream_pull(answers, &missed, NULL)) {
                    in_the_air--;
                    if (missed)
                        hand[in_hand++] = missed - 1;
                }
        }
        while (shmemx_stream_pull(answers, &missed, NULL)) {
            in_the_air--;
            if (missed)
                hand[in_hand++] = missed - 1;
        }
        if (in_hand == 0 && in_the_air == 0 && !is_ended) {
            shmemx_stream_end(darts);
            is_ended = 1;
        }
    }
    shmemx_stream_destroy(answers);

    /* Where the own part of the permutation begins, and whether each number is there once. */
    static long mine, all;
    uint64_t number;
    char *seen = calloc((size_t)count, 1);
    shmemx_stream_reset(darts);
    for (uint64_t p = 0; p < places; p++) {
        if (board[p] == 0)
            continue;
        struct dart back = {(board[p] - 1) % (uint64_t)count, 0}, d;
        number = (board[p] - 1) / (uint64_t)count;
        while (!shmemx_stream_push(darts, &back, (int)number))
            while (shmemx_stream_pull(darts, &d, NULL))
                seen[d.number]++;
        mine++;
    }
    shmemx_stream_end(darts);
    while (shmemx_stream_wait(darts)) {
        struct dart d;
        while (shmemx_stream_pull(darts, &d, NULL))
            seen[d.number]++;
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    int is_wrong = all != count * (long)n;
    for (long i = 0; i < count; i++)
        is_wrong |= seen[i] != 1;
    shmemx_stream_destroy(darts);
    if (me == 0)
        printf("%ld numbers permuted\n", all);
    if (is_wrong)
        fprintf(stderr, "PE %d: this is no permutation\n", (int)me);
    shmem_finalize();
    return is_wrong;
}
