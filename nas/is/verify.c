/* Verification of rankings: known ranks of some keys in each iteration, and at the end the order
 * of all keys when each is at its rank. */
#include "verify.h"

#include <stdint.h>
#include <stdlib.h>
#include <shmem.h>

#include "benchmark.h"
#include "reduce.h"

int verify_tests(const Ranking *r, int iteration)
{
    int right = 0;
    for (int t = 0; t < TESTS; t++) {
        const Test *test = &r->problem->tests[t];
        int key = r->test_keys[t], bucket = key >> r->shift;
        if (bucket >= r->first && bucket < r->end)
            right += *ranking_rank(r, key) == test->rank + test->step * (iteration - test->since);
    }
    return right;
}

/* A sum that depends on every key, but not on their order. */
static long checksum(const int *key, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t mixed = ((uint64_t)(unsigned)key[i] + 1) * UINT64_C(0x9e3779b97f4a7c15);
        sum += mixed >> 29; /* 35 bits: the sum of 2^27 keys on all PEs fits in a long */
    }
    return (long)sum;
}

/* Moves the received keys to their ranks; returns whether each rank was free and in this PE's
 * share. */
static bool place_keys(const Ranking *r, int *sorted, size_t count)
{
    bool good = true;
    int base = r->start[r->first];
    for (size_t i = 0; i < count; i++)
        sorted[i] = -1;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)((*ranking_rank(r, r->received[i]))++ - base);
        if (at >= count || sorted[at] != -1)
            good = false;
        else
            sorted[at] = r->received[i];
    }
    return good;
}

bool verify_order(Ranking *r)
{
    size_t count = (size_t)(r->start[r->end] - r->start[r->first]);
    int *sorted = malloc((count > 0 ? count : 1) * sizeof *sorted);
    if (sum_long(sorted == NULL) > 0)
        refuse("no memory for %zu MiB of sorted keys", count * sizeof *sorted >> 20);
    long wrong = !place_keys(r, sorted, count);
    for (size_t i = 1; i < count; i++)
        wrong += sorted[i - 1] > sorted[i];
    /* By the order of buckets, the keys of this PE are larger than those of the PEs before it. */
    if (count > 0)
        wrong += sorted[0] >> r->shift < r->first || sorted[count - 1] >> r->shift >= r->end;

    wrong += sum_long(checksum(r->key, r->keys)) != sum_long(checksum(sorted, count));
    free(sorted);
    return sum_long(wrong) == 0;
}
