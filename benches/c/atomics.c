/* Atomics of the library compared with the CPU's on the same address, with the default order of C.
 * The library's set and fetch guarantee less order; `set_release` compares with a store of the same
 * order. */
#include "rounds.h"

enum { COUNT = 20000 };

static struct { long a_long; int a_int; double a_double; } *heap, *there;
static int peer;

#define ATOMIC(type, name, bare, ours)                                  \
    static void type##_##name##_bare(long count)                        \
    {                                                                   \
        type *const target = &there->a_##type, zero = 0;                \
        type seen = 0;                                                  \
        *target = 0;                                                    \
        for (long i = 0; i < count; i++)                                \
            bare;                                                       \
        (void)zero, (void)*(volatile type *)&seen;                      \
    }                                                                   \
    static void type##_##name##_ours(long count)                        \
    {                                                                   \
        type *const target = &heap->a_##type;                           \
        const int pe = peer;                                            \
        type seen = 0;                                                  \
        there->a_##type = 0;                                            \
        for (long i = 0; i < count; i++)                                \
            ours;                                                       \
        (void)*(volatile type *)&seen;                                  \
    }

#define STORES(type)                                                                    \
    ATOMIC(type, swap, { type new = (type)i; type old;                                  \
                         __atomic_exchange(target, &new, &old, __ATOMIC_SEQ_CST);       \
                         seen += old; },                                                \
           seen += shmem_##type##_atomic_swap(target, (type)i, pe))                     \
    ATOMIC(type, set, { type new = (type)i;                                             \
                        __atomic_store(target, &new, __ATOMIC_SEQ_CST); },              \
           shmem_##type##_atomic_set(target, (type)i, pe))                              \
    ATOMIC(type, set_release, { type new = (type)i;                                     \
                                __atomic_store(target, &new, __ATOMIC_RELEASE); },      \
           shmem_##type##_atomic_set(target, (type)i, pe))                              \
    ATOMIC(type, fetch, { type old;                                                     \
                          __atomic_load(target, &old, __ATOMIC_SEQ_CST); seen += old; },\
           seen += shmem_##type##_atomic_fetch(target, pe))

/* Each fetch depends on the value of the one before (which is 0), so that they cannot overlap; the
 * fetches of the plain series can. */
#define CHAINS(type)                                                                           \
    ATOMIC(type, fetch_chain, {                                                                \
               type old;                                                                       \
               __atomic_load(target + (long)seen, &old, __ATOMIC_SEQ_CST);                     \
               seen = old; },                                                                  \
           seen = shmem_##type##_atomic_fetch(target + (long)seen, pe))

#define INTEGERS(type)                                                                     \
    STORES(type)                                                                           \
    ATOMIC(type, fetch_add, seen += __atomic_fetch_add(target, (type)i, __ATOMIC_SEQ_CST), \
           seen += shmem_##type##_atomic_fetch_add(target, (type)i, pe))                   \
    ATOMIC(type, add, __atomic_fetch_add(target, (type)i, __ATOMIC_SEQ_CST),               \
           shmem_##type##_atomic_add(target, (type)i, pe))                                 \
    ATOMIC(type, inc, __atomic_fetch_add(target, 1, __ATOMIC_SEQ_CST),                     \
           shmem_##type##_atomic_inc(target, pe))                                          \
    ATOMIC(type, compare_swap, { type old = (type)i;                                       \
                                 __atomic_compare_exchange_n(target, &old, zero, 0,        \
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); seen += old; },  \
           seen += shmem_##type##_atomic_compare_swap(target, (type)i, 0, pe))

INTEGERS(int)
INTEGERS(long)
STORES(double)
CHAINS(int)
CHAINS(long)
CHAINS(double)

#define SERIES(type, name) \
    {#name "/" #type, type##_##name##_bare, type##_##name##_ours, COUNT, 0, 0}

#define SERIES_OF_STORES(type)                                        \
    SERIES(type, swap), SERIES(type, set), SERIES(type, set_release), \
    SERIES(type, fetch), SERIES(type, fetch_chain)

#define SERIES_OF_INTEGERS(type)                                      \
    SERIES(type, fetch_add), SERIES(type, add), SERIES(type, inc),    \
    SERIES(type, compare_swap), SERIES_OF_STORES(type)

static const struct series all[] = {
    SERIES_OF_INTEGERS(int),
    SERIES_OF_INTEGERS(long),
    SERIES_OF_STORES(double),
};

int main(void)
{
    shmem_init();
    heap = shmem_align(64, sizeof *heap);
    memset(heap, 0, sizeof *heap);
    peer = (shmem_my_pe() + 1) % shmem_n_pes();
    there = shmem_ptr(heap, peer);
    shmem_barrier_all();
    return serve(all, sizeof all / sizeof *all);
}
