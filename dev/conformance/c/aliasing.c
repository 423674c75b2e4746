/* An inlined operation on a PE's own memory and the program's own loads and stores of the same
 * object see each other: the compiler must not keep one of them in a register or move it past
 * the other, whatever it believes about the pointers. */
#include "check.h"

enum { ROUNDS = 1000 };

static long direct, pointed;
static double real;

static void own_stores_before_gets(void)
{
    int me = shmem_my_pe();
    long *pointer = shmem_ptr(&pointed, me);
    REQUIRE(pointer != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        long value;
        direct = i;
        shmem_long_get(&value, &direct, 1, me);
        CHECK(value == i, "round %d: got %ld of a global", i, value);
        *pointer = i + 7;
        shmem_long_get(&value, &pointed, 1, me);
        CHECK(value == i + 7, "round %d: got %ld through a pointer", i, value);
        real = i * 0.5;
        CHECK(shmem_double_g(&real, me) == i * 0.5, "round %d: a double", i);
    }
}

static void own_loads_after_puts(void)
{
    int me = shmem_my_pe();
    for (int i = 0; i < ROUNDS; i++) {
        long value = i * 5;
        shmem_long_p(&direct, i * 3, me);
        CHECK(direct == i * 3, "round %d: loaded %ld after p", i, direct);
        shmem_long_put(&pointed, &value, 1, me);
        CHECK(pointed == value, "round %d: loaded %ld after put", i, pointed);
        shmem_long_atomic_inc(&direct, me);
        CHECK(direct == i * 3 + 1, "round %d: loaded %ld after an atomic", i, direct);
        shmem_double_p(&real, i, me);
        CHECK(real == i, "round %d: a double", i);
    }
}

static void copies_to_itself(void)
{
    enum { N = 64 };
    static long array[N];
    int me = shmem_my_pe();
    for (int i = 0; i < N; i++)
        array[i] = i;
    for (int i = 1; i < N; i++)
        shmem_long_put(&array[i], &array[i - 1], 1, me);
    for (int i = 0; i < N; i++)
        CHECK(array[i] == 0, "put: element %d is %ld", i, array[i]);
    for (int i = 0; i < N; i++)
        array[i] = i;
    for (int i = 1; i < N; i++)
        shmem_long_get(&array[i], &array[i - 1], 1, me);
    for (int i = 0; i < N; i++)
        CHECK(array[i] == 0, "get: element %d is %ld", i, array[i]);
}

/* Each object, of any type, is the source of the next get. */
#define CHAIN(bits)                                                                             \
    static void chain##bits(void)                                                               \
    {                                                                                           \
        enum { N = 65 };                                                                        \
        static uint##bits##_t array[N];                                                         \
        uint##bits##_t *const mine = array, *const there = shmem_ptr(array, shmem_my_pe());     \
        const int me = shmem_my_pe();                                                           \
        for (int i = 0; i < N; i++)                                                             \
            mine[i] = (uint##bits##_t)(i + 3);                                                  \
        for (int i = 1; i < N; i++)                                                             \
            shmem_get##bits(&mine[i], &mine[i - 1], 1, me);                                     \
        for (int i = 0; i < N; i++)                                                             \
            CHECK(there[i] == 3, "get" #bits ": element %d is %d", i, (int)there[i]);           \
        for (int i = 1; i < N; i++) {                                                           \
            mine[i - 1] = (uint##bits##_t)(i + 5);                                              \
            shmem_get##bits(&mine[i], &mine[i - 1], 1, me);                                     \
            CHECK(there[i] == (uint##bits##_t)(i + 5), "get" #bits " of what was stored");      \
        }                                                                                       \
    }
CHAIN(8)
CHAIN(16)
CHAIN(32)
CHAIN(64)

/* A pointer is an object like others, and its new value is used at once. */
static void pointers_by_untyped_gets(void)
{
    static long values[ROUNDS];
    static long *source;
    const int me = shmem_my_pe();
    for (int i = 0; i < ROUNDS; i++) {
        long *got = NULL;
        values[i] = i * 11;
        source = &values[i];
        shmem_getmem(&got, &source, sizeof got, me);
        CHECK(got == &values[i] && *got == i * 11, "round %d", i);
    }
}

int main(void)
{
    shmem_init();
    own_stores_before_gets();
    own_loads_after_puts();
    copies_to_itself();
    chain8();
    chain16();
    chain32();
    chain64();
    pointers_by_untyped_gets();
    return finish();
}
