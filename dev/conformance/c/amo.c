/* Atomic memory operations: every operation on every type, exact results where all PEs work on
 * one object at once, and atomicity against C atomics on the same object. */
#include "check.h"

enum { ROUNDS = REPEAT(200, 3), TIMES = REPEAT(5000, 32) };

static shmem_ctx_t context;

/* One PE at a time on its neighbour's object: what each operation returns and leaves. */
#define TEST_EXTENDED(type, name)                                                                  \
    static void name##_extended(void)                                                              \
    {                                                                                              \
        static type object;                                                                        \
        int me = shmem_my_pe(), to = right_of(me);                                                 \
        type fetched = 0;                                                                          \
        shmem_##name##_atomic_set(&object, (type)(10 + me), to);                                   \
        CHECK(shmem_##name##_atomic_fetch(&object, to) == (type)(10 + me), #name " set");          \
        shmem_ctx_##name##_atomic_set(context, &object, (type)12, to);                             \
        CHECK(shmem_ctx_##name##_atomic_fetch(context, &object, to) == (type)12, #name);           \
        CHECK(shmem_##name##_atomic_swap(&object, (type)13, to) == (type)12, #name " swap");       \
        CHECK(shmem_ctx_##name##_atomic_swap(context, &object, (type)14, to) == (type)13, #name);  \
        shmem_##name##_atomic_swap_nbi(&fetched, &object, (type)15, to);                           \
        shmem_quiet();                                                                             \
        CHECK(fetched == (type)14, #name " swap_nbi");                                             \
        shmem_ctx_##name##_atomic_fetch_nbi(context, &fetched, &object, to);                       \
        shmem_ctx_quiet(context);                                                                  \
        CHECK(fetched == (type)15, #name " fetch_nbi");                                            \
        shmem_barrier_all();                                                                       \
        CHECK(object == (type)15, #name);                                                          \
        shmem_barrier_all();                                                                       \
    }

EXTENDED_AMO_TYPES(TEST_EXTENDED)

#define TEST_STANDARD(type, name)                                                                  \
    static void name##_standard(void)                                                              \
    {                                                                                              \
        type *object = checked_malloc(sizeof *object);                                             \
        int me = shmem_my_pe(), to = right_of(me);                                                 \
        type fetched = 0;                                                                          \
        *object = 5;                                                                               \
        shmem_barrier_all();                                                                       \
        shmem_##name##_atomic_inc(object, to);                                                     \
        CHECK(shmem_##name##_atomic_fetch_inc(object, to) == 6, #name " fetch_inc");               \
        shmem_##name##_atomic_add(object, 10, to);                                                 \
        CHECK(shmem_##name##_atomic_fetch_add(object, 3, to) == 17, #name " fetch_add");           \
        CHECK(shmem_##name##_atomic_fetch_add(object, (type)-4, to) == 20, #name);                 \
        CHECK(shmem_##name##_atomic_compare_swap(object, 15, 1, to) == 16, #name " no swap");      \
        CHECK(shmem_##name##_atomic_compare_swap(object, 16, 30, to) == 16, #name " swap");        \
        shmem_##name##_atomic_fetch_add_nbi(&fetched, object, 1, to);                              \
        shmem_quiet();                                                                             \
        CHECK(fetched == 30, #name " fetch_add_nbi");                                              \
        shmem_##name##_atomic_fetch_inc_nbi(&fetched, object, to);                                 \
        shmem_quiet();                                                                             \
        CHECK(fetched == 31, #name " fetch_inc_nbi");                                              \
        shmem_##name##_atomic_compare_swap_nbi(&fetched, object, 32, 40, to);                      \
        shmem_quiet();                                                                             \
        CHECK(fetched == 32, #name " compare_swap_nbi");                                           \
        shmem_ctx_##name##_atomic_inc(context, object, to);                                        \
        shmem_ctx_##name##_atomic_add(context, object, 2, to);                                     \
        CHECK(shmem_ctx_##name##_atomic_fetch_add(context, object, 7, to) == 43, #name " ctx");    \
        CHECK(shmem_ctx_##name##_atomic_fetch_inc(context, object, to) == 50, #name " ctx");       \
        CHECK(shmem_ctx_##name##_atomic_compare_swap(context, object, 51, 60, to) == 51, #name);   \
        /* The largest value wraps (unsigned) or the most negative is met (signed). */             \
        shmem_##name##_atomic_set(object, (type)~(type)0, to);                                     \
        CHECK(shmem_##name##_atomic_fetch_inc(object, to) == (type)~(type)0, #name " wraps");      \
        shmem_barrier_all();                                                                       \
        CHECK(*object == 0, #name);                                                                \
        shmem_free(object);                                                                        \
    }                                                                                              \
                                                                                                   \
    static void name##_contended(void)                                                             \
    {                                                                                              \
        static type sum, ticket, cas, swapped;                                                     \
        int me = shmem_my_pe(), n = shmem_n_pes();                                                 \
        type *seen = checked_malloc((size_t)(n * ROUNDS) * sizeof *seen);                          \
        memset(seen, 0, (size_t)(n * ROUNDS) * sizeof *seen);                                      \
        sum = ticket = cas = swapped = 0;                                                          \
        shmem_barrier_all();                                                                       \
        type tokens = (type)(me + 1); /* swapped in and out: none may be lost */                   \
        for (int i = 0; i < ROUNDS; i++) {                                                         \
            shmem_##name##_atomic_add(&sum, (type)(me + 1), i % n);                                \
            type t = shmem_##name##_atomic_fetch_inc(&ticket, 0);                                  \
            REQUIRE(t < (type)(n * ROUNDS), #name " ticket out of range");                         \
            shmem_##name##_atomic_inc(&seen[t], 0);                                                \
            type old = shmem_##name##_atomic_fetch(&cas, 0), now;                                  \
            while ((now = shmem_##name##_atomic_compare_swap(&cas, old, (type)(old + 3), 0)) !=    \
                   old)                                                                            \
                old = now;                                                                         \
            tokens = shmem_##name##_atomic_swap(&swapped, tokens, 0);                              \
        }                                                                                          \
        shmem_##name##_atomic_add(&sum, 0, me);                                                    \
        static long total;                                                                         \
        total = 0;                                                                                 \
        shmem_barrier_all();                                                                       \
        shmem_long_atomic_add(&total, (long)tokens, 0);                                            \
        type want = 0;                                                                             \
        for (int i = 0; i < ROUNDS; i++)                                                           \
            if (i % n == me)                                                                       \
                want = (type)(want + (type)(n * (n + 1) / 2));                                     \
        CHECK(sum == want, #name " lost an addition");                                             \
        shmem_barrier_all();                                                                       \
        if (me == 0) {                                                                             \
            CHECK(cas == (type)(3 * n * ROUNDS), #name " lost a compare_swap");                    \
            CHECK(total + (long)swapped == (long)n * (n + 1) / 2, #name " lost a swapped value");  \
            for (int i = 0; i < n * ROUNDS; i++)                                                   \
                CHECK(seen[i] == 1, #name " ticket %d was given %d times", i, (int)seen[i]);       \
        }                                                                                          \
        shmem_barrier_all();                                                                       \
        shmem_free(seen);                                                                          \
    }

AMO_TYPES(TEST_STANDARD)

#define TEST_BITWISE(type, name)                                                                   \
    static void name##_bitwise(void)                                                               \
    {                                                                                              \
        static type object, all;                                                                   \
        int me = shmem_my_pe(), n = shmem_n_pes(), to = right_of(me);                              \
        type fetched = 0;                                                                          \
        object = 0xF0;                                                                             \
        all = 0;                                                                                   \
        shmem_barrier_all();                                                                       \
        shmem_##name##_atomic_or(&object, 0x0C, to);                                               \
        CHECK(shmem_##name##_atomic_fetch_or(&object, 0x02, to) == 0xFC, #name " fetch_or");       \
        CHECK(shmem_##name##_atomic_fetch_and(&object, 0x3F, to) == 0xFE, #name " fetch_and");     \
        shmem_##name##_atomic_and(&object, 0x3C, to);                                              \
        CHECK(shmem_##name##_atomic_fetch_xor(&object, 0x0F, to) == 0x3C, #name " fetch_xor");     \
        shmem_##name##_atomic_xor(&object, 0x30, to);                                              \
        CHECK(shmem_##name##_atomic_fetch(&object, to) == 0x03, #name " xor");                     \
        shmem_##name##_atomic_fetch_or_nbi(&fetched, &object, 0x10, to);                           \
        shmem_quiet();                                                                             \
        CHECK(fetched == 0x03, #name " fetch_or_nbi");                                             \
        shmem_##name##_atomic_fetch_and_nbi(&fetched, &object, 0x11, to);                          \
        shmem_quiet();                                                                             \
        CHECK(fetched == 0x13, #name " fetch_and_nbi");                                            \
        shmem_##name##_atomic_fetch_xor_nbi(&fetched, &object, 0x10, to);                          \
        shmem_quiet();                                                                             \
        CHECK(fetched == 0x11, #name " fetch_xor_nbi");                                            \
        shmem_ctx_##name##_atomic_or(context, &object, 0x40, to);                                  \
        shmem_ctx_##name##_atomic_and(context, &object, 0x40, to);                                 \
        shmem_ctx_##name##_atomic_xor(context, &object, 0x41, to);                                 \
        CHECK(shmem_ctx_##name##_atomic_fetch_xor(context, &object, 1, to) == 0x01, #name);        \
        CHECK(shmem_ctx_##name##_atomic_fetch_or(context, &object, 4, to) == 0, #name);            \
        CHECK(shmem_ctx_##name##_atomic_fetch_and(context, &object, 6, to) == 4, #name);           \
        /* Every PE owns a bit of one word. */                                                     \
        type bit = (type)((type)1 << (me % 24));                                                   \
        for (int i = 0; i < ROUNDS; i++) {                                                         \
            shmem_##name##_atomic_or(&all, bit, 0);                                                \
            if (n <= 24)                                                                           \
                CHECK(shmem_##name##_atomic_fetch(&all, 0) & bit, #name " lost a bit");            \
            if (n <= 24)                                                                           \
                CHECK(shmem_##name##_atomic_fetch_and(&all, (type)~bit, 0) & bit, #name);          \
            shmem_##name##_atomic_xor(&all, bit, 0);                                               \
            if (n <= 24)                                                                           \
                CHECK(shmem_##name##_atomic_fetch_xor(&all, bit, 0) & bit, #name " lost a xor");   \
        }                                                                                          \
        shmem_barrier_all();                                                                       \
        if (me == 0 && n <= 24)                                                                    \
            CHECK(all == 0, #name " bits are left");                                               \
        shmem_barrier_all();                                                                       \
    }

BITWISE_AMO_TYPES(TEST_BITWISE)

/* A C atomic on the mapped object and an AMO on the symmetric one lose nothing, wherever those
 * are that have no mapping of it. */
static void against_c_atomics(void)
{
    static long counter;
    static unsigned long bits;
    counter = 0;
    bits = 0;
    shmem_barrier_all();
    long *mapped = shmem_ptr(&counter, 0);
    unsigned long *mapped_bits = shmem_ptr(&bits, 0);
    REQUIRE((mapped == NULL) == (mapped_bits == NULL));
    for (int i = 0; i < TIMES; i++) {
        if (mapped != NULL)
            __atomic_fetch_add(mapped, 1, __ATOMIC_SEQ_CST);
        else
            shmem_long_atomic_inc(&counter, 0);
        shmem_long_atomic_inc(&counter, 0);
        if (mapped != NULL)
            __atomic_fetch_xor(mapped_bits, 1ul << (i % 64), __ATOMIC_SEQ_CST);
        else
            shmem_ulong_atomic_xor(&bits, 1ul << (i % 64), 0);
        shmem_ulong_atomic_xor(&bits, 1ul << (i % 64), 0);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        CHECK(counter == 2l * TIMES * shmem_n_pes(), "%ld", counter);
        CHECK(bits == 0, "%#lx", bits);
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    REQUIRE(shmem_ctx_create(0, &context) == 0);
#define RUN_EXTENDED(type, name) name##_extended();
    EXTENDED_AMO_TYPES(RUN_EXTENDED)
#define RUN_STANDARD(type, name) name##_standard(); name##_contended();
    AMO_TYPES(RUN_STANDARD)
#define RUN_BITWISE(type, name) name##_bitwise();
    BITWISE_AMO_TYPES(RUN_BITWISE)
    against_c_atomics();
    shmem_ctx_destroy(context);
    return finish();
}
