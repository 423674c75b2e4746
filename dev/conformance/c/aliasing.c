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

int main(void)
{
    shmem_init();
    own_stores_before_gets();
    own_loads_after_puts();
    copies_to_itself();
    shmem_finalize();
    return check_status();
}
