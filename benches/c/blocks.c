/* put and get of 4 KiB to 8 MiB compared with memcpy on the same buffers. */
#include "rounds.h"

enum { LARGEST = 8 << 20 }; /* bytes */

static char *local, *heap, *there;
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

COPIES(bare_put, memcpy(there, local, series->bytes))
COPIES(bare_get, memcpy(local, there, series->bytes))
COPIES(ours_put, shmem_putmem(heap, local, series->bytes, peer))
COPIES(ours_get, shmem_getmem(local, heap, series->bytes, peer))

#define SERIES(count, kib)                                                  \
    {"put/" #kib "KiB", bare_put, ours_put, count, 0, (size_t)kib << 10},   \
    {"get/" #kib "KiB", bare_get, ours_get, count, 0, (size_t)kib << 10}

static const struct series all[] = {
    SERIES(512, 4), SERIES(128, 16), SERIES(32, 64), SERIES(8, 256),
    SERIES(2, 1024), SERIES(1, 4096), SERIES(1, 8192),
};

int main(void)
{
    shmem_init();
    heap = shmem_align(4096, LARGEST);
    local = aligned_alloc(4096, LARGEST);
    if (!heap || !local) {
        fprintf(stderr, "no memory for buffers of %d bytes\n", LARGEST);
        return 1;
    }
    peer = (shmem_my_pe() + 1) % shmem_n_pes();
    there = shmem_ptr(heap, peer);
    memset(heap, 1, LARGEST);
    memset(local, 2, LARGEST);
    shmem_barrier_all();
    serve(all, sizeof all / sizeof *all);
    shmem_finalize();
    return 0;
}
