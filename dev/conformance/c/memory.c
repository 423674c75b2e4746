/* The symmetric heap: all routines, alignment, same addresses on all PEs, exhaustion, contents
 * kept by realloc, a long random pattern, and that what is not touched uses no memory. */
#include "check.h"

static int me, n;

/* All PEs must have got the same address. */
static void same_everywhere(const void *p)
{
    static uintptr_t mine, others[64];
    REQUIRE(n <= 64);
    mine = (uintptr_t)p;
    shmem_barrier_all();
    shmem_fcollectmem(SHMEM_TEAM_WORLD, others, &mine, sizeof mine);
    for (int pe = 0; pe < n; pe++)
        CHECK(others[pe] == mine, "PE %d has %#lx, I have %#lx", pe, (long)others[pe], (long)mine);
    shmem_barrier_all();
}

static void routines(void)
{
    CHECK(shmem_malloc(0) == NULL);
    CHECK(shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL);
    CHECK(shmem_align(64, 0) == NULL);
    CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
    shmem_free(NULL);
    for (size_t size = 1; size < 5000; size = size * 3 + 1) {
        void *p = checked_malloc(size);
        CHECK(((uintptr_t)p & (_Alignof(max_align_t) - 1)) == 0, "%p", p);
        memset(p, 0xAB, size);
        same_everywhere(p);
        shmem_free(p);
    }
    for (size_t alignment = 8; alignment <= (size_t)4 << 20; alignment *= 2) {
        void *p = shmem_align(alignment, 100);
        REQUIRE(p != NULL, "alignment %zu", alignment);
        CHECK(((uintptr_t)p & (alignment - 1)) == 0, "%p for %zu", p, alignment);
        same_everywhere(p);
        shmem_free(p);
    }
    static const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                                 SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE};
    for (int i = 0; i < 4; i++) {
        uint64_t *p = shmem_malloc_with_hints(1000, hints[i]);
        REQUIRE(p != NULL, "hints %ld", hints[i]);
        same_everywhere(p);
        p[0] = 0;
        shmem_barrier_all();
        shmem_uint64_atomic_inc(p, right_of(me));
        shmem_barrier_all();
        CHECK(p[0] == 1);
        /* Lines behind it, so that it moves, and by odd numbers of them. */
        void *lines[3];
        for (int k = 0; k < 3; k++) {
            lines[k] = checked_malloc(64);
            p = shmem_realloc(p, (size_t)4000 << 2 * k);
            CHECK(p != NULL && p[0] == 1);
            CHECK(hints[i] == 0 || (uintptr_t)p % 128 == 0, "%p has lost its hints %ld", (void *)p, hints[i]);
        }
        for (int k = 0; k < 3; k++)
            shmem_free(lines[k]);
        shmem_free(p);
    }
}

static void calloc_clears(void)
{
    enum { COUNT = 5000 };
    for (int round = 0; round < 5; round++) {
        unsigned *p = shmem_calloc(COUNT, sizeof *p);
        REQUIRE(p != NULL);
        for (int i = 0; i < COUNT; i++) {
            CHECK(p[i] == 0, "round %d word %d: %#x", round, i, p[i]);
            p[i] = 0xDEADBEEF; /* the next round is likely to get the same place */
        }
        shmem_free(p);
    }
    CHECK(shmem_calloc(SIZE_MAX / 2, 4) == NULL, "the product overflows");
}

static void realloc_keeps(void)
{
    static const size_t sizes[] = {1, 10, 100, 5000, 300, 100000, 64, 1000000, 3, 20, 20};
    size_t old = 0;
    unsigned char *p = NULL;
    void *obstacles[sizeof sizes / sizeof *sizes];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i], kept = old < size ? old : size;
        unsigned char *before = p;
        p = shmem_realloc(p, size);
        REQUIRE(p != NULL, "%zu", size);
        CHECK(p == before || old < size, "%zu bytes moved to become %zu", old, size);
        same_everywhere(p);
        for (size_t k = 0; k < kept; k++)
            CHECK(p[k] == (unsigned char)(k * 7 + (size_t)me), "byte %zu from %zu to %zu", k, old, size);
        for (size_t k = 0; k < size; k++)
            p[k] = (unsigned char)(k * 7 + (size_t)me);
        old = size;
        /* Something behind it, so that it cannot always grow in place. */
        obstacles[i] = checked_malloc(500);
        if (i % 2)
            shmem_free(obstacles[i]);
    }
    CHECK(shmem_realloc(p, 0) == NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += 2)
        shmem_free(obstacles[i]);
}

/* Too much gives NULL to all, at once and by many small pieces, and the library goes on. */
static void exhaustion(void)
{
    void *small = checked_malloc(1 << 20);
    CHECK(shmem_malloc(SIZE_MAX) == NULL);
    CHECK(shmem_malloc(SIZE_MAX / 2 + 1) == NULL);
    CHECK(shmem_malloc((size_t)1 << 50) == NULL);
    CHECK(shmem_align(4096, SIZE_MAX - 100) == NULL);
    CHECK(shmem_realloc(small, (size_t)1 << 50) == NULL, "the block stays");
    memset(small, 1, 1 << 20);
    enum { MOST = 4096 };
    static void *pieces[MOST];
    size_t size = (size_t)1 << 40;
    int count = 0;
    while (size >= (size_t)1 << 20 && count < MOST) {
        void *p = shmem_malloc(size);
        if (p == NULL) {
            size /= 2;
            continue;
        }
        pieces[count++] = p;
    }
    CHECK(count > 0 && count < MOST);
    CHECK(shmem_malloc((size_t)2 << 20) == NULL);
    same_everywhere(pieces[count - 1]);
    for (int parity = 0; parity < 2; parity++)
        for (int i = parity; i < count; i += 2)
            shmem_free(pieces[i]);
    void *again = checked_malloc((size_t)64 << 20);
    shmem_free(again);
    shmem_free(small);
}

static uint32_t random_state = 12345;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * limit) >> 32);
}

/* A long random pattern, the same on all PEs: blocks never overlap and keep their contents. */
static void random_pattern(void)
{
    enum { BLOCKS = 200, STEPS = 3000 };
    static unsigned char *blocks[BLOCKS];
    static size_t lengths[BLOCKS];
    static unsigned char marks[BLOCKS];
    static uintptr_t digest, digests[64];
    for (int step = 0; step < STEPS / (n > 4 ? 4 : 1); step++) {
        uint32_t b = random_below(BLOCKS);
        if (blocks[b] != NULL) {
            for (size_t k = 0; k < lengths[b]; k += 1 + lengths[b] / 50)
                CHECK(blocks[b][k] == marks[b], "step %d block %u byte %zu", step, b, k);
            if (random_below(3)) {
                shmem_free(blocks[b]);
                blocks[b] = NULL;
                continue;
            }
        }
        size_t size = 1 + random_below(random_below(10) ? 2000 : 200000);
        size_t old = blocks[b] ? lengths[b] : 0;
        if (blocks[b] || random_below(2))
            blocks[b] = shmem_realloc(blocks[b], size);
        else
            blocks[b] = shmem_align((size_t)16 << random_below(6), size);
        REQUIRE(blocks[b] != NULL, "step %d: %zu bytes", step, size);
        for (size_t k = 0; k < old && k < size; k += 1 + size / 50)
            CHECK(blocks[b][k] == marks[b], "step %d: realloc lost byte %zu", step, k);
        lengths[b] = size;
        marks[b] = (unsigned char)(step + me);
        memset(blocks[b], marks[b], size);
        digest = digest * 31 + (uintptr_t)blocks[b];
    }
    shmem_barrier_all();
    shmem_fcollectmem(SHMEM_TEAM_WORLD, digests, &digest, sizeof digest);
    for (int pe = 0; pe < n; pe++)
        CHECK(digests[pe] == digest, "PE %d had other addresses", pe);
    for (int b = 0; b < BLOCKS; b++)
        shmem_free(blocks[b]);
}

static long shared_resident_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssShmem: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

static void untouched_costs_nothing(void)
{
    size_t size = (size_t)256 << 20;
    long before = shared_resident_kib();
    char *p = shmem_malloc(size);
    if (p == NULL)
        return; /* a small heap was asked for */
    CHECK(shared_resident_kib() - before < 8 << 10, "%ld KiB for nothing",
          shared_resident_kib() - before);
    p[size / 2] = 1;
    CHECK(shared_resident_kib() - before < 8 << 10);
    shmem_free(p);
}

static void all_zero(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i += 4096)
        CHECK(p[i] == 0 && p[i + 4095] == 0, "byte %zu", i);
}

/* Neither do zeros: not in memory that was never used, nor in what was handed out and not touched. */
static void zeros_cost_nothing(void)
{
    size_t size = (size_t)1 << 30, part = (size_t)4 << 20;
    for (int round = 0; round < 3; round++) {
        long before = shared_resident_kib();
        char *p = shmem_calloc(size / 8, 8);
        if (p == NULL)
            return; /* a small heap was asked for */
        long used = shared_resident_kib() - before;
        CHECK(used < 8 << 10, "%ld KiB for nothing, round %d", used, round);
        CHECK(p[0] == 0 && p[size - 1] == 0);
        all_zero(p + size / 4, part);
        /* Written on this PE and on its neighbour; zero again when it is handed out again. */
        memset(p + size / 4, 1, part);
        shmem_barrier_all();
        shmem_char_p(p + size / 2, 7, right_of(me));
        shmem_barrier_all();
        CHECK(p[size / 2] == 7);
        shmem_free(p);
        p = shmem_calloc(size, 1);
        REQUIRE(p != NULL);
        all_zero(p + size / 4 - part, 3 * part);
        CHECK(p[size / 2] == 0, "left by a neighbour");
        shmem_barrier_all();
        shmem_free(p);
    }
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    untouched_costs_nothing();
    zeros_cost_nothing();
    routines();
    calloc_clears();
    realloc_keeps();
    exhaustion();
    random_pattern();
    return finish();
}
