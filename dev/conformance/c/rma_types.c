/* Every RMA type: put, get, p, g, their non-blocking and context forms, strided and blocked
 * transfers, on heap, globals and statics of a function, also where source and target are one. */
#include "check.h"

enum { N = 61, SPAN = 400 };

/* Values that differ in every byte of the type and are exact in float. */
#define VALUE(type, pe, i) ((type)((pe) * 67 + (i) * 3 + 1))

static shmem_ctx_t context;

/* The routine with the context, or without. */
#define EITHER(name, routine, ...)                                                                 \
    if (ctx_form)                                                                                  \
        shmem_ctx_##name##_##routine(context, __VA_ARGS__);                                        \
    else                                                                                           \
        shmem_##name##_##routine(__VA_ARGS__)

#define TEST_TYPE(type, name)                                                                      \
    static type name##_global[SPAN];                                                               \
                                                                                                   \
    static void name##_clear(type *a)                                                              \
    {                                                                                              \
        for (int i = 0; i < SPAN; i++)                                                             \
            a[i] = (type)99;                                                                       \
        shmem_barrier_all();                                                                       \
    }                                                                                              \
                                                                                                   \
    static void name##_expect(const char *what, const type *a, int pe, int first, int stride,      \
                              int block, int from)                                                 \
    {                                                                                              \
        int next = 0; /* elements met so far */                                                    \
        for (int i = 0; i < SPAN; i++) {                                                           \
            int k = i - first;                                                                     \
            if (k >= 0 && k % stride < block && next < N) {                                        \
                int in = from < 0 ? next : (next / block) * from + next % block;                   \
                CHECK(a[i] == VALUE(type, pe, in), "%s %s: element %d", #name, what, i);           \
                next++;                                                                            \
            } else {                                                                               \
                CHECK(a[i] == (type)99, "%s %s: element %d was written", #name, what, i);          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void name##_on(const char *where, type *array, int ctx_form)                            \
    {                                                                                              \
        int me = shmem_my_pe(), to = right_of(me), from = left_of(me);                             \
        type source[SPAN], got[SPAN];                                                              \
        for (int i = 0; i < SPAN; i++)                                                             \
            source[i] = VALUE(type, me, i);                                                        \
                                                                                                   \
        name##_clear(array);                                                                       \
        EITHER(name, put, array + 5, source, N, to);                                               \
        shmem_ctx_quiet(context);                                                                  \
        shmem_barrier_all();                                                                       \
        name##_expect(where, array, from, 5, 1, 1, -1);                                            \
                                                                                                   \
        for (int i = 0; i < SPAN; i++)                                                             \
            got[i] = (type)99;                                                                     \
        EITHER(name, get, got + 2, array + 5, N, to);                                              \
        name##_expect("get", got, me, 2, 1, 1, -1);                                                \
        shmem_barrier_all();                                                                       \
                                                                                                   \
        name##_clear(array);                                                                       \
        EITHER(name, put_nbi, array, source, N, to);                                               \
        shmem_ctx_quiet(context);                                                                  \
        shmem_barrier_all();                                                                       \
        name##_expect("put_nbi", array, from, 0, 1, 1, -1);                                        \
        for (int i = 0; i < SPAN; i++)                                                             \
            got[i] = (type)99;                                                                     \
        EITHER(name, get_nbi, got, array, N, to);                                                  \
        shmem_ctx_quiet(context);                                                                  \
        shmem_quiet();                                                                             \
        name##_expect("get_nbi", got, me, 0, 1, 1, -1);                                            \
        shmem_barrier_all();                                                                       \
                                                                                                   \
        name##_clear(array);                                                                       \
        for (int i = 0; i < N; i++)                                                                \
            EITHER(name, p, array + i, source[i], to);                                             \
        shmem_ctx_quiet(context);                                                                  \
        shmem_barrier_all();                                                                       \
        name##_expect("p", array, from, 0, 1, 1, -1);                                              \
        for (int i = 0; i < N; i++) {                                                              \
            type v = ctx_form ? shmem_ctx_##name##_g(context, array + i, to)                       \
                              : shmem_##name##_g(array + i, to);                                   \
            CHECK(v == VALUE(type, me, i), "%s g: element %d", #name, i);                          \
        }                                                                                          \
        shmem_barrier_all();                                                                       \
                                                                                                   \
        name##_clear(array);                                                                       \
        EITHER(name, iput, array + 1, source, 3, 2, N, to);                                        \
        shmem_ctx_quiet(context);                                                                  \
        shmem_barrier_all();                                                                       \
        name##_expect("iput", array, from, 1, 3, 1, 2);                                            \
        for (int i = 0; i < SPAN; i++)                                                             \
            got[i] = (type)99;                                                                     \
        EITHER(name, iget, got + 4, array + 1, 5, 3, N, to);                                       \
        name##_expect("iget", got, me, 4, 5, 1, 2);                                                \
        shmem_barrier_all();                                                                       \
                                                                                                   \
        /* N is no multiple of 4: the last block is whole all the same, so move 15 blocks */       \
        /* and complete the N elements by a contiguous put. */                                     \
        name##_clear(array);                                                                       \
        EITHER(name, ibput, array + 2, source, 6, 5, 4, N / 4, to);                                \
        shmem_##name##_put(array + 2 + N / 4 * 6, source + N / 4 * 5, N % 4, to);                  \
        shmem_ctx_quiet(context);                                                                  \
        shmem_barrier_all();                                                                       \
        name##_expect("ibput", array, from, 2, 6, 4, 5);                                           \
        for (int i = 0; i < SPAN; i++)                                                             \
            got[i] = (type)99;                                                                     \
        EITHER(name, ibget, got, array + 2, 4, 6, 4, N / 4, to);                                   \
        shmem_##name##_get(got + N / 4 * 4, array + 2 + N / 4 * 6, N % 4, to);                     \
        name##_expect("ibget", got, me, 0, 4, 4, 5);                                               \
        shmem_barrier_all();                                                                       \
                                                                                                   \
        /* Source and target are the same object of the same PE. */                                \
        shmem_##name##_put(array, array, SPAN, me);                                                \
        shmem_##name##_get(array, array, SPAN, me);                                                \
        name##_expect("put onto itself", array, from, 2, 6, 4, 5);                                 \
        shmem_##name##_p(array, VALUE(type, me, 7), me);                                           \
        CHECK(array[0] == VALUE(type, me, 7), "%s p to self", #name);                              \
        CHECK(shmem_##name##_g(array, me) == array[0], "%s g from self", #name);                   \
        shmem_barrier_all();                                                                       \
    }                                                                                              \
                                                                                                   \
    static void name##_test(void)                                                                  \
    {                                                                                              \
        static type in_function[SPAN];                                                             \
        type *heap = checked_malloc(SPAN * sizeof(type));                                          \
        name##_on("put to the heap", heap, 0);                                                     \
        name##_on("put to a global", name##_global, 1);                                            \
        name##_on("put to a static", in_function, 0);                                              \
        shmem_free(heap);                                                                          \
    }

RMA_TYPES(TEST_TYPE)

/* The untyped strided routines, one per element size. */
#define TEST_WIDTH(bits)                                                                           \
    static void width##bits(void)                                                                  \
    {                                                                                              \
        enum { BYTES = bits / 8 };                                                                 \
        static unsigned char array[40 * BYTES];                                                    \
        unsigned char source[40 * BYTES], got[40 * BYTES];                                         \
        int me = shmem_my_pe(), to = right_of(me), from = left_of(me);                             \
        for (int i = 0; i < 40 * BYTES; i++) {                                                     \
            source[i] = (unsigned char)(me * 41 + i);                                              \
            array[i] = got[i] = 0xEE;                                                              \
        }                                                                                          \
        shmem_barrier_all();                                                                       \
        shmem_iput##bits(array, source, 2, 3, 10, to);                                             \
        shmem_barrier_all();                                                                       \
        for (int i = 0; i < 40 * BYTES; i++) {                                                     \
            int e = i / BYTES;                                                                     \
            unsigned char want = e % 2 == 0 && e < 20                                              \
                                     ? (unsigned char)(from * 41 + e / 2 * 3 * BYTES + i % BYTES)  \
                                     : 0xEE;                                                       \
            CHECK(array[i] == want, "iput" #bits " byte %d", i);                                   \
        }                                                                                          \
        shmem_iget##bits(got, array, 1, 2, 10, to);                                                \
        for (int i = 0; i < 10 * BYTES; i++)                                                       \
            CHECK(got[i] == source[i / BYTES * 3 * BYTES + i % BYTES], "iget" #bits " byte %d", i); \
        CHECK(got[10 * BYTES] == 0xEE);                                                            \
        shmem_barrier_all();                                                                       \
        shmem_ibput##bits(array, source, 4, 3, 2, 8, to);                                          \
        shmem_barrier_all();                                                                       \
        for (int b = 0; b < 8; b++)                                                                \
            for (int i = 0; i < 2 * BYTES; i++)                                                    \
                CHECK(array[b * 4 * BYTES + i] ==                                                  \
                          (unsigned char)(from * 41 + b * 3 * BYTES + i),                          \
                      "ibput" #bits " block %d", b);                                               \
        shmem_ibget##bits(got, array, 2, 4, 2, 8, to);                                             \
        for (int b = 0; b < 8; b++)                                                                \
            for (int i = 0; i < 2 * BYTES; i++)                                                    \
                CHECK(got[b * 2 * BYTES + i] == source[b * 3 * BYTES + i], "ibget" #bits);         \
        shmem_barrier_all();                                                                       \
        /* Backwards. */                                                                           \
        shmem_iput##bits(array + 18 * BYTES, source, -2, 1, 10, to);                               \
        shmem_barrier_all();                                                                       \
        for (int i = 0; i < 10 * BYTES; i++)                                                       \
            CHECK(array[(18 - i / BYTES * 2) * BYTES + i % BYTES] ==                               \
                      (unsigned char)(from * 41 + i),                                              \
                  "iput" #bits " backwards: byte %d", i);                                          \
        shmem_iget##bits(got + 9 * BYTES, array, -1, 2, 10, to);                                   \
        for (int i = 0; i < 10 * BYTES; i++)                                                       \
            CHECK(got[i] == source[i], "iget" #bits " backwards: byte %d", i);                     \
        shmem_barrier_all();                                                                       \
    }

TEST_WIDTH(8)
TEST_WIDTH(16)
TEST_WIDTH(32)
TEST_WIDTH(64)
TEST_WIDTH(128)

int main(void)
{
    shmem_init();
    REQUIRE(shmem_ctx_create(0, &context) == 0);
#define RUN(type, name) name##_test();
    RMA_TYPES(RUN)
    width8();
    width16();
    width32();
    width64();
    width128();
    shmem_ctx_destroy(context);
    return finish();
}
