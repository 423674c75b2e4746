/* Calls that are recorded for a trace (SHMEM_PROFILE_DIR, SHMEM_TRACE_SIZE), beside a time of 100 ns for each: what
 * recording may take at most, the operation with it. */
#include "rounds.h"

static long cell;
static long words[8];
static int other;

static void allowed(long count)
{
    const double end = now_ns() + 100.0 * (double)count;
    while (now_ns() < end)
        continue;
}

static void p(long count)
{
    for (long i = 0; i < count; i++)
        shmem_long_p(&cell, i, other);
}

static void g(long count)
{
    static volatile long sum;
    for (long i = 0; i < count; i++)
        sum += shmem_long_g(&cell, other);
}

static void put(long count)
{
    for (long i = 0; i < count; i++)
        shmem_long_put(words, words, 8, other);
}

static void add(long count)
{
    for (long i = 0; i < count; i++)
        shmem_long_atomic_add(&cell, i, other);
}

static void fence(long count)
{
    for (long i = 0; i < count; i++)
        shmem_fence();
}

int main(void)
{
    static const struct series all[] = {
        {.name = "p", .bare = allowed, .ours = p, .count = 5000},
        {.name = "g", .bare = allowed, .ours = g, .count = 5000},
        {.name = "put/64B", .bare = allowed, .ours = put, .count = 5000},
        {.name = "atomic_add", .bare = allowed, .ours = add, .count = 5000},
        {.name = "fence", .bare = allowed, .ours = fence, .count = 5000},
    };
    shmem_init();
    other = (shmem_my_pe() + 1) % shmem_n_pes();
    return serve(all, sizeof all / sizeof *all);
}
