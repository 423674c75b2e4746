/* Loops of 8-byte p, g, put and get, on the heap and on globals, compared with loads and stores. */
#include "rounds.h"
#include "scalars.h"

enum { COUNT = 20 * ELEMENTS };

static long local[ELEMENTS];
static long *heap;
static long *heap_there, *table_there;
static int peer;

#define PASSES_OF(name, call)                              \
    static void name(long count)                           \
    {                                                      \
        for (long done = 0; done < count; done += ELEMENTS) \
            call;                                          \
    }

#define SCALARS(place, there, ...)                                     \
    PASSES_OF(place##_bare_p, bare_p(there, local[0]))                 \
    PASSES_OF(place##_bare_g, bare_g(there, local))                    \
    PASSES_OF(place##_bare_put, bare_put(there, local))                \
    PASSES_OF(place##_bare_get, bare_get(there, local))                \
    PASSES_OF(place##_ours_p, place##_p(__VA_ARGS__ local, peer))      \
    PASSES_OF(place##_ours_g, place##_g(__VA_ARGS__ local, peer))      \
    PASSES_OF(place##_ours_put, place##_put(__VA_ARGS__ local, peer))  \
    PASSES_OF(place##_ours_get, place##_get(__VA_ARGS__ local, peer))  \
    PASSES_OF(place##_ours_get64, place##_get64(__VA_ARGS__ local, peer))

#define HEAP heap,

SCALARS(heap, heap_there, HEAP)
SCALARS(global, table_there, )

#define SERIES(place, routine) \
    {#routine "/" #place, place##_bare_##routine, place##_ours_##routine, COUNT, 0, 0}
#define UNTYPED(place) {"get64/" #place, place##_bare_get, place##_ours_get64, COUNT, 0, 0}

static const struct series all[] = {
    SERIES(heap, p),   SERIES(heap, g),   SERIES(heap, put),   SERIES(heap, get),
    SERIES(global, p), SERIES(global, g), SERIES(global, put), SERIES(global, get),
    UNTYPED(heap),     UNTYPED(global),
};

int main(void)
{
    shmem_init();
    heap = shmem_malloc(sizeof(long[ELEMENTS]));
    peer = (shmem_my_pe() + 1) % shmem_n_pes();
    heap_there = shmem_ptr(heap, peer);
    table_there = shmem_ptr(table, peer);
    if (!table_there) /* other implementations: any bare loop of this size */
        table_there = heap_there;
    for (int i = 0; i < ELEMENTS; i++)
        heap[i] = table[i] = i;
    shmem_barrier_all();
    return serve(all, sizeof all / sizeof *all);
}
