/* Sorts integers distributed over all PEs.
 *
 *     oshcc -O3 intsort.c -o intsort && oshrun -n 4 ./intsort [LOG2_KEYS [ROUNDS]]
 *
 * 2^LOG2_KEYS keys of 32 bits (default 2^25) come from a counter-based generator: key i is
 * the upper half of SplitMix64(i), so any PE can make any part. One sort is
 *
 *   1. count:    each PE counts its keys by their upper bits; a sum over all PEs gives the
 *                histogram of all keys, from which every PE derives the same split of the
 *                key range into one part per PE, of about equal numbers of keys;
 *   2. group:    each PE groups its keys by destination;
 *   3. exchange: for each destination, an atomic fetch-add on the destination's counter
 *                reserves room in its receive buffer, and one put fills it;
 *   4. sort:     each PE sorts the keys that it received (radix sort).
 *
 * The result is verified each time: keys ascend within each PE and from PE to PE, and number
 * and checksum of all keys are those of the generated ones. The rate counts steps 1 to 4, the
 * best of ROUNDS sorts (default 3). A failure ends the job with status 1.
 */
#include <shmem.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_LOG2_KEYS = 25, LEAST_LOG2_KEYS = 4, MOST_LOG2_KEYS = 36, DEFAULT_ROUNDS = 3 };
enum { COUNT_BITS = 12, COUNTS = 1 << COUNT_BITS };      /* histogram that splits the range */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 }; /* of the radix sort */

static int me, n;
static int owner[COUNTS]; /* the PE that gets the keys with these upper bits */

/* Symmetric: the other PEs read or write these. */
static uint64_t counts[COUNTS], all_counts[COUNTS]; /* keys by upper bits: of this PE, of all */
static size_t filled;                               /* keys in the receive buffer */
static uint32_t smallest, largest;                  /* of this PE's sorted keys, if filled > 0 */
static uint64_t sums[5], all_sums[5];               /* see verify */

_Noreturn static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "intsort: PE %d: ", me);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    shmem_global_exit(EXIT_FAILURE);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t splitmix64(uint64_t counter)
{
    uint64_t x = (counter + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void *allocate(size_t keys)
{
    void *memory = malloc(keys ? keys * sizeof(uint32_t) : 1);
    if (memory == NULL)
        fail("no memory for %zu keys: sort fewer", keys);
    return memory;
}

/* Checksum that depends on every bit of every key, but not on their order. */
static uint64_t checksum(const uint32_t *keys, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += splitmix64(keys[i]);
    return sum;
}

/* Step 1: the histogram of all keys, and from it the owner of each of its ranges. Returns the
 * largest number of keys that any PE gets, the same on all PEs. */
static size_t split(const uint32_t *keys, size_t count, uint64_t total)
{
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < count; i++)
        counts[keys[i] >> (32 - COUNT_BITS)]++;
    if (shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_counts, counts, COUNTS) != 0)
        fail("the sum of the histograms failed");

    uint64_t before = 0, load = 0, most = 0;
    int pe = 0;
    for (int c = 0; c < COUNTS; c++) {
        /* The range of the next PE begins where the keys so far make up the shares before it. */
        while (pe < n - 1 && before >= total / (uint64_t)n * (uint64_t)(pe + 1)) {
            pe++;
            load = 0;
        }
        owner[c] = pe;
        before += all_counts[c];
        load += all_counts[c];
        if (load > most)
            most = load;
    }
    return most;
}

/* Step 2: `grouped` gets the keys by destination; those for PE p are grouped[start[p]] up to
 * grouped[start[p + 1]]. */
static void group(const uint32_t *keys, size_t count, uint32_t *grouped, size_t *start,
                  size_t *next)
{
    memset(start, 0, ((size_t)n + 1) * sizeof *start);
    for (int c = 0; c < COUNTS; c++)
        start[owner[c] + 1] += counts[c];
    for (int pe = 0; pe < n; pe++) {
        start[pe + 1] += start[pe];
        next[pe] = start[pe];
    }
    for (size_t i = 0; i < count; i++)
        grouped[next[owner[keys[i] >> (32 - COUNT_BITS)]]++] = keys[i];
}

/* Step 3. Each PE begins with the next PE, so that not all write to the same one. */
static void exchange(const uint32_t *grouped, const size_t *start, uint32_t *received)
{
    for (int i = 1; i <= n; i++) {
        int pe = (me + i) % n;
        size_t count = start[pe + 1] - start[pe];
        if (count == 0)
            continue;
        size_t at = shmem_size_atomic_fetch_add(&filled, count, pe);
        shmem_uint32_put(received + at, grouped + start[pe], count, pe);
    }
    shmem_barrier_all();
}

/* Step 4: radix sort from the lowest digit. Returns where the sorted keys are: there are three
 * passes, so in `scratch`. */
static uint32_t *radix_sort(uint32_t *keys, uint32_t *scratch, size_t count)
{
    static size_t at[PASSES][DIGITS];
    memset(at, 0, sizeof at);
    for (size_t i = 0; i < count; i++)
        for (int pass = 0; pass < PASSES; pass++)
            at[pass][keys[i] >> (pass * DIGIT_BITS) & (DIGITS - 1)]++;
    for (int pass = 0; pass < PASSES; pass++) {
        size_t sum = 0;
        for (int digit = 0; digit < DIGITS; digit++) {
            size_t keys_of_digit = at[pass][digit];
            at[pass][digit] = sum;
            sum += keys_of_digit;
        }
        for (size_t i = 0; i < count; i++)
            scratch[at[pass][keys[i] >> (pass * DIGIT_BITS) & (DIGITS - 1)]++] = keys[i];
        uint32_t *swap = keys;
        keys = scratch;
        scratch = swap;
    }
    return keys;
}

/* Ends the job unless the sorted keys of all PEs are the generated ones in ascending order. */
static void verify(const uint32_t *sorted, size_t count, uint64_t generated_sum, uint64_t total)
{
    uint64_t descents = 0;
    for (size_t i = 1; i < count; i++)
        descents += sorted[i - 1] > sorted[i];
    if (count > 0) {
        smallest = sorted[0];
        largest = sorted[count - 1];
    }
    shmem_barrier_all();

    uint64_t overlaps = 0;
    for (int pe = me - 1; count > 0 && pe >= 0; pe--)
        if (shmem_size_g(&filled, pe) > 0) { /* the nearest PE below that has keys */
            overlaps = shmem_uint32_g(&largest, pe) > smallest;
            break;
        }
    sums[0] = count;
    sums[1] = generated_sum;
    sums[2] = checksum(sorted, count);
    sums[3] = descents;
    sums[4] = overlaps;
    if (shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_sums, sums, 5) != 0)
        fail("the sum of the checks failed");
    if (all_sums[0] != total)
        fail("%" PRIu64 " keys after sorting, %" PRIu64 " before", all_sums[0], total);
    if (all_sums[1] != all_sums[2])
        fail("checksum %016" PRIx64 " after sorting, %016" PRIx64 " before", all_sums[2], all_sums[1]);
    if (all_sums[3] + all_sums[4] != 0)
        fail("not sorted: %" PRIu64 " descents within PEs, %" PRIu64 " between PEs", all_sums[3],
             all_sums[4]);
}

/* An argument as a number between `least` and `most`. */
static int number(const char *argument, const char *name, int least, int most)
{
    char *end;
    long value = strtol(argument, &end, 10);
    if (end == argument || *end != '\0' || value < least || value > most)
        fail("%s \"%s\": give a number from %d to %d", name, argument, least, most);
    return (int)value;
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    int log2_keys = DEFAULT_LOG2_KEYS, rounds = DEFAULT_ROUNDS;
    if (argc > 1)
        log2_keys = number(argv[1], "LOG2_KEYS", LEAST_LOG2_KEYS, MOST_LOG2_KEYS);
    if (argc > 2)
        rounds = number(argv[2], "ROUNDS", 1, 1000);

    uint64_t total = (uint64_t)1 << log2_keys;
    uint64_t first = total / (uint64_t)n * (uint64_t)me;
    uint64_t end = me == n - 1 ? total : first + total / (uint64_t)n;
    size_t count = (size_t)(end - first);
    uint32_t *keys = allocate(count);
    uint32_t *grouped = allocate(count);
    size_t *start = calloc(2 * (size_t)n + 1, sizeof *start);
    if (start == NULL)
        fail("no memory for the positions of %d PEs", n);
    for (size_t i = 0; i < count; i++)
        keys[i] = (uint32_t)(splitmix64(first + i) >> 32);
    uint64_t generated_sum = checksum(keys, count);

    /* Room for the largest part of any PE, which the split determines and which is the same in each
     * round. */
    size_t most = split(keys, count, total);
    uint32_t *received = shmem_malloc(most * sizeof *received);
    uint32_t *scratch = allocate(most);
    if (received == NULL)
        fail("no symmetric memory for %zu keys: sort fewer", most);

    double best = 0;
    for (int round = 1; round <= rounds; round++) {
        filled = 0;
        shmem_barrier_all();
        double begin = seconds();
        split(keys, count, total);
        group(keys, count, grouped, start, start + n + 1);
        double middle = seconds();
        exchange(grouped, start, received);
        double exchanged = seconds();
        uint32_t *sorted = radix_sort(received, scratch, filled);
        shmem_barrier_all();
        double done = seconds();

        verify(sorted, filled, generated_sum, total);
        if (best == 0 || done - begin < best)
            best = done - begin;
        if (me == 0)
            printf("  round %d: %.3f s (PE 0: group %.3f, exchange %.3f, sort %.3f)\n", round,
                   done - begin, middle - begin, exchanged - middle, done - exchanged);
        shmem_barrier_all(); /* before `filled` is cleared */
    }
    if (me == 0)
        printf("intsort: 2^%d keys on %d PEs sorted and verified: %.3f s, %.1f Mkeys/s\n",
               log2_keys, n, best, (double)total / best * 1e-6);

    shmem_free(received);
    free(scratch);
    free(start);
    free(grouped);
    free(keys);
    shmem_finalize();
    return EXIT_SUCCESS;
}
