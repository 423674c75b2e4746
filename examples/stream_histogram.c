/* Histogram by a stream: each PE draws numbers and sends each to the PE that counts it.
 *
 *     oshcc -O2 stream_histogram.c -o stream_histogram
 *     oshrun -n 4 ./stream_histogram [draws per PE]
 *
 * Of n PEs, PE p counts the numbers v with v % n == p. Counting is an increment of the own memory: no atomics. To
 * verify, all is drawn once more and counted backwards. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 1000 }; /* of each PE */

static int64_t counts[BUCKETS];

/* Counts what has arrived. */
static void count(shmemx_stream_t stream, int64_t by)
{
    const void *items;
    size_t n;
    while ((n = shmemx_stream_view(stream, &items, NULL)) > 0)
        for (size_t i = 0; i < n; i++)
            counts[((const uint32_t *)items)[i]] += by;
}

static void draw_and_count(shmemx_stream_t stream, long draws, int64_t by)
{
    uint64_t state = (uint64_t)shmem_my_pe() + 1;
    uint64_t n = (uint64_t)shmem_n_pes();
    for (long i = 0; i < draws; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t number = (state >> 33) % (BUCKETS * n);
        uint32_t bucket = (uint32_t)(number / n);
        while (!shmemx_stream_push(stream, &bucket, (int)(number % n)))
            count(stream, by);
    }
    shmemx_stream_end(stream);
    while (shmemx_stream_wait(stream))
        count(stream, by);
}

int main(int argc, char **argv)
{
    long draws = argc > 1 ? atol(argv[1]) : 1000000;
    shmem_init();
    shmemx_stream_t stream;
    if (shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(uint32_t), 0, &stream) != 0)
        shmem_global_exit(1);
    draw_and_count(stream, draws, 1);

    static int64_t mine, all;
    for (int i = 0; i < BUCKETS; i++)
        mine += counts[i];
    shmem_int64_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    int is_wrong = all != draws * shmem_n_pes();

    shmemx_stream_reset(stream);
    draw_and_count(stream, draws, -1);
    for (int i = 0; i < BUCKETS; i++)
        is_wrong |= counts[i] != 0;
    shmemx_stream_destroy(stream);
    if (shmem_my_pe() == 0)
        printf("%ld numbers counted\n", (long)all);
    if (is_wrong)
        fprintf(stderr, "PE %d: the counts are wrong\n", shmem_my_pe());
    shmem_finalize();
    return is_wrong;
}
