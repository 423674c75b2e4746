/* put and get of 4 KiB to 64 MiB compared with the best bare copy of as many bytes: through the caches or past
 * them, between the same buffers or between private ones on huge pages. */
#include "rounds.h"
#include "copies.h"

enum { LARGEST = 64 << 20 }; /* bytes */

static char *local, *heap, *there;
static char *huge_dest, *huge_source;
static int peer;

/* Prevents the compiler from removing a copy that the next one overwrites. */
#define OBSERVE(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

#define COPIES(name, copy)                     \
    static void name(long count)               \
    {                                          \
        for (long i = 0; i < count; i++) {     \
            copy;                              \
            OBSERVE(local);                    \
        }                                      \
    }

static void bare(char *dest, const char *source, long count)
{
    char *const dests[] = {dest, huge_dest};
    const char *const sources[] = {source, huge_source};
    const struct bare best = best_of_series(dests, sources, 2);
    for (long i = 0; i < count; i++)
        best.copy(best.dest, best.source, series->bytes);
}

static void bare_put(long count) { bare(there, local, count); }
static void bare_get(long count) { bare(local, there, count); }
COPIES(ours_put, shmem_putmem(heap, local, series->bytes, peer))
COPIES(ours_get, shmem_getmem(local, heap, series->bytes, peer))

#define SERIES(count, kib)                                                  \
    {"put/" #kib "KiB", bare_put, ours_put, count, 0, (size_t)kib << 10},   \
    {"get/" #kib "KiB", bare_get, ours_get, count, 0, (size_t)kib << 10}

static const struct series all[] = {
    SERIES(512, 4),   SERIES(128, 16), SERIES(32, 64),   SERIES(8, 256),   SERIES(2, 1024),
    SERIES(1, 2048),  SERIES(1, 4096), SERIES(1, 8192),  SERIES(1, 16384), SERIES(1, 32768),
    SERIES(1, 65536),
};

int main(void)
{
    shmem_init();
    heap = shmem_align(4096, LARGEST);
    local = aligned_alloc(4096, LARGEST);
    huge_dest = on_huge_pages(LARGEST);
    huge_source = on_huge_pages(LARGEST);
    if (!heap || !local || !huge_dest || !huge_source) {
        fprintf(stderr, "no memory for buffers of %d bytes\n", LARGEST);
        return 1;
    }
    peer = (shmem_my_pe() + 1) % shmem_n_pes();
    there = shmem_ptr(heap, peer);
    memset(heap, 1, LARGEST);
    memset(local, 2, LARGEST);
    shmem_barrier_all();
    return serve(all, sizeof all / sizeof *all);
}
