/* A histogram distributed over all PEs, filled by atomic additions of all PEs.
 *
 *     oshcc histogram.c -o histogram && oshrun -n 4 ./histogram [SAMPLES_PER_PE]
 *
 * Bin b lives on PE b % n. A sample is the sum of two dice with BINS / 2 faces, so the bins'
 * frequencies form a triangle. At the end the bins must hold exactly as many samples as were
 * drawn, and the bins of each PE exactly the samples that all PEs sent to them.
 */
#include <shmem.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 256 };

static uint64_t bins[BINS];     /* one PE alone owns all of them */
static uint64_t sent[BINS];     /* samples that this PE sent to each bin */
static uint64_t expected[BINS]; /* samples that all PEs sent to each bin */

/* SplitMix64: a counter-based generator, so each PE draws its own samples. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    int n = shmem_n_pes();
    uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;

    for (uint64_t i = 0; i < samples; i++) {
        uint64_t draw = mix((uint64_t)me * samples + i);
        int bin = (int)(draw % (BINS / 2) + (draw >> 32) % (BINS / 2));
        sent[bin] += 1;
        shmem_uint64_atomic_inc(&bins[bin / n], bin % n);
    }
    shmem_barrier_all();

    int wrong = shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, expected, sent, BINS);
    uint64_t total = 0;
    for (int bin = 0; bin < BINS; bin++) {
        total += expected[bin];
        if (bin % n == me && bins[bin / n] != expected[bin]) {
            fprintf(stderr, "histogram: PE %d: bin %d holds %" PRIu64 ", expected %" PRIu64 "\n",
                    me, bin, bins[bin / n], expected[bin]);
            wrong = 1;
        }
    }
    wrong |= total != samples * (uint64_t)n;
    if (me == 0 && !wrong)
        printf("histogram: %" PRIu64 " samples in %d bins on %d PEs\n", total, BINS, n);
    shmem_finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
