/* Index gather: each PE reads random elements of an array that is distributed over all PEs.
 *
 *     oshcc -O2 index_gather.c -o index_gather
 *     oshrun -n 4 ./index_gather [reads per PE]
 *
 * Of n PEs, PE p has the elements i with i % n == p. A read is a question in one stream and an answer in another:
 * questions say where the answer belongs. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 4096 }; /* of each PE */

struct question {
    uint32_t element, place;
};
struct answer {
    uint64_t value;
    uint64_t place;
};

static uint64_t array[ELEMENTS];

static uint64_t value_of(uint64_t index) { return index * index + 1; }

static void take_answers(shmemx_stream_t answers, uint64_t *result)
{
    struct answer a;
    while (shmemx_stream_pull(answers, &a, NULL))
        result[a.place] = a.value;
}

int main(int argc, char **argv)
{
    long reads = argc > 1 ? atol(argv[1]) : 300000;
    shmem_init();
    uint64_t n = (uint64_t)shmem_n_pes(), me = (uint64_t)shmem_my_pe(), state = me + 1;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        array[i] = value_of(i * n + me);
    uint64_t *wanted = malloc((size_t)reads * sizeof *wanted);
    uint64_t *result = calloc((size_t)reads, sizeof *result);
    for (long i = 0; i < reads; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        wanted[i] = (state >> 33) % (ELEMENTS * n);
    }

    shmemx_stream_t questions, answers;
    if (shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct question), 0, &questions) != 0 ||
        shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct answer), 0, &answers) != 0)
        shmem_global_exit(1);
    long asked = 0;
    for (int is_ended = 0; !shmemx_stream_done(questions);) {
        /* Ask as long as there is room, then answer, and take what has been answered. */
        for (; asked < reads; asked++) {
            struct question q = {(uint32_t)(wanted[asked] / n), (uint32_t)asked};
            if (!shmemx_stream_push(questions, &q, (int)(wanted[asked] % n)))
                break;
        }
        if (asked == reads && !is_ended) {
            shmemx_stream_end(questions);
            is_ended = 1;
        }
        struct question q;
        int pe;
        while (shmemx_stream_pull(questions, &q, &pe)) {
            struct answer a = {array[q.element], q.place};
            while (!shmemx_stream_push(answers, &a, pe))
                take_answers(answers, result);
        }
        take_answers(answers, result);
    }
    shmemx_stream_end(answers);
    while (shmemx_stream_wait(answers))
        take_answers(answers, result);

    long wrong = 0;
    for (long i = 0; i < reads; i++)
        wrong += result[i] != value_of(wanted[i]);
    shmemx_stream_destroy(answers);
    shmemx_stream_destroy(questions);
    if (me == 0)
        printf("%ld elements read by each PE\n", reads);
    if (wrong)
        fprintf(stderr, "PE %d: %ld elements are wrong\n", (int)me, wrong);
    shmem_finalize();
    return wrong != 0;
}
