/* What the model computes: typed values, reductions, atomic operations, comparisons. */
#ifndef FUZZ_VALUES_H
#define FUZZ_VALUES_H

#include <complex.h>
#include <float.h>

#include "random.h"
#include "fuzz/routines.h"

enum operator{OP_AND, OP_OR, OP_XOR, OP_MAX, OP_MIN, OP_SUM, OP_PROD};

/* Bytes of a long double that have a meaning. */
#define LONG_DOUBLE_BYTES (LDBL_MANT_DIG == 64 ? 10 : 16)

/* Integers of up to 8 bytes, sign-extended if they are signed. */
static __int128 load_integer(enum class class, int size, const void *at)
{
    uint64_t word = 0;
    memcpy(&word, at, (size_t)size);
    if (class != SIGNED)
        return word;
    return (int64_t)(word << (64 - 8 * size)) >> (64 - 8 * size);
}

static void store_integer(int size, void *at, __int128 value)
{
    uint64_t word = (uint64_t)value;
    memcpy(at, &word, (size_t)size);
}

static __int128 combine_integers(enum operator op, __int128 x, __int128 y)
{
    switch (op) {
    case OP_AND:
        return x & y;
    case OP_OR:
        return x | y;
    case OP_XOR:
        return x ^ y;
    case OP_MAX:
        return x > y ? x : y;
    case OP_MIN:
        return x < y ? x : y;
    case OP_SUM:
        return (__int128)((uint64_t)x + (uint64_t)y);
    case OP_PROD:
        return (__int128)((uint64_t)x * (uint64_t)y);
    }
    return 0;
}

#define COMBINE_REALS(T)                                        \
    {                                                           \
        T x, y;                                                 \
        memcpy(&x, into, sizeof x);                             \
        memcpy(&y, from, sizeof y);                             \
        x = op == OP_MAX   ? (x > y ? x : y)                    \
            : op == OP_MIN ? (x < y ? x : y)                    \
            : op == OP_SUM ? x + y                              \
                           : x * y;                             \
        /* Padding is not copied: it is not the same on all PEs. */ \
        memcpy(into, &x, sizeof x == 16 ? LONG_DOUBLE_BYTES : sizeof x); \
    }

#define COMBINE_COMPLEX(T)                       \
    {                                            \
        T x, y;                                  \
        memcpy(&x, into, sizeof x);              \
        memcpy(&y, from, sizeof y);              \
        x = op == OP_SUM ? x + y : x * y;        \
        memcpy(into, &x, sizeof x);              \
    }

/* *into = *into op *from. */
static void combine(const struct routine *r, enum operator op, void *into, const void *from)
{
    if (r->class == REAL && r->size == 4)
        COMBINE_REALS(float)
    else if (r->class == REAL && r->size == 8)
        COMBINE_REALS(double)
    else if (r->class == REAL)
        COMBINE_REALS(long double)
    else if (r->class == COMPLEX && r->size == 8)
        COMBINE_COMPLEX(float _Complex)
    else if (r->class == COMPLEX)
        COMBINE_COMPLEX(double _Complex)
    else {
        __int128 x = load_integer(r->class, r->size, into), y = load_integer(r->class, r->size, from);
        store_integer(r->size, into, combine_integers(op, x, y));
    }
}

/* What is in the places of the elements of a reduction, beside its own type: numbers of 16 bits in those of short
 * integers; in those of 8 or 16 bytes pairs of a value and an index. Their datatypes are in no table. */
enum elements { PLAIN, HALVES, BRAIN_HALVES, PAIRS, PAIRS_OF_REALS };

/* A small integer as a number of 16 bits, and back. */
static uint16_t half_of(enum elements elements, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (elements == BRAIN_HALVES || f == 0)
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000) | (((bits & 0x7fffffff) >> 13) - (112 << 10)));
}

static float value_of_half(enum elements elements, uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float f;
    if (elements == HALVES && (half & 0x7fff) != 0)
        bits = (bits & 0x80000000) | ((half & 0x7fffu) + (112 << 10)) << 13;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The value of a pair of so many bytes: a small integer. */
static double value_of_pair(enum elements elements, int size, const void *at)
{
    float f;
    double d;
    memcpy(&f, at, sizeof f);
    memcpy(&d, at, sizeof d);
    return elements == PAIRS ? (double)load_integer(SIGNED, size / 2, at) : size == 8 ? f : d;
}

static int index_of_pair(int size, const unsigned char *at)
{
    int index;
    memcpy(&index, at + size / 2, sizeof index);
    return index;
}

/* Small integers, whose sums and products are exact in any order, and that often are the same. */
static void random_elements(struct rng *rng, enum elements elements, int size, enum operator op, unsigned char *at,
                            size_t nelems)
{
    memset(at, 0, nelems * (size_t)size);
    for (; nelems > 0; nelems--, at += size) {
        int value = op == OP_PROD ? 1 - 2 * below(rng, 2) : between(rng, -4, 4), index = below(rng, 5);
        float f = (float)value;
        double d = value;
        uint16_t half = half_of(elements, f);
        if (elements < PAIRS) {
            memcpy(at, &half, sizeof half);
            continue;
        }
        if (elements == PAIRS)
            store_integer(size / 2, at, value);
        else
            memcpy(at, size == 8 ? (void *)&f : (void *)&d, (size_t)size / 2);
        memcpy(at + size / 2, &index, sizeof index);
    }
}

static void combine_elements(enum elements elements, int size, enum operator op, unsigned char *into,
                             const unsigned char *from)
{
    if (elements >= PAIRS) {
        double x = value_of_pair(elements, size, into), y = value_of_pair(elements, size, from);
        if ((op == OP_MAX ? y > x : y < x) || (x == y && index_of_pair(size, from) < index_of_pair(size, into)))
            memcpy(into, from, (size_t)size);
        return;
    }
    uint16_t halves[2];
    memcpy(&halves[0], into, sizeof halves[0]);
    memcpy(&halves[1], from, sizeof halves[1]);
    float x = value_of_half(elements, halves[0]), y = value_of_half(elements, halves[1]);
    x = op == OP_MAX ? (x > y ? x : y) : op == OP_MIN ? (x < y ? x : y) : op == OP_SUM ? x + y : x * y;
    halves[0] = half_of(elements, x);
    memcpy(into, &halves[0], sizeof halves[0]);
}

/* Whether reductions of the type depend on what is in the elements: arbitrary bytes may be no number. */
static int needs_numbers(enum class class)
{
    return class == REAL || class == COMPLEX;
}

/* A number whose sums and products over 64 PEs are exact in any order. */
static long number(struct rng *rng, enum operator op)
{
    static const long factors[] = {1, -1, 1, 2, 1, -1};
    return op == OP_PROD ? factors[below(rng, 6)] : between(rng, -1000, 1000);
}

static void random_numbers(struct rng *rng, const struct routine *r, enum operator op,
                           unsigned char *at, size_t nelems)
{
    memset(at, 0, nelems * (size_t)r->size);
    for (size_t i = 0; i < nelems; i++, at += r->size) {
        long x = number(rng, op), y = number(rng, op);
        float f[2] = {(float)x, (float)y};
        double d[2] = {(double)x, (double)y};
        long double l = (long double)x;
        /* Products of complex numbers stay exact for units of the Gaussian integers. */
        if (op == OP_PROD && r->class == COMPLEX) {
            int real = below(rng, 2);
            f[real] = 0;
            d[real] = 0;
        }
        if (r->class == REAL)
            memcpy(at, r->size == 4 ? (void *)f : r->size == 8 ? (void *)d : (void *)&l,
                   r->size == 16 ? LONG_DOUBLE_BYTES : (size_t)r->size);
        else if (r->class == COMPLEX)
            memcpy(at, r->size == 8 ? (void *)f : (void *)d, (size_t)r->size);
        else
            random_bytes(rng, at, (size_t)r->size);
    }
}

/* Whether two elements are the same: by value if they are numbers, as 0 and -0 are. */
static int same_element(enum class class, int size, const void *x, const void *y)
{
    /* An operator of the program hands on any bits, those of no number, too. */
    if (memcmp(x, y, size == 16 && class == REAL ? LONG_DOUBLE_BYTES : (size_t)size) == 0)
        return 1;
    if (class == REAL && size == 4)
        return *(const float *)x == *(const float *)y;
    if (class == REAL && size == 8)
        return *(const double *)x == *(const double *)y;
    if (class == REAL)
        return *(const long double *)x == *(const long double *)y;
    if (class == COMPLEX && size == 8)
        return *(const float _Complex *)x == *(const float _Complex *)y;
    if (class == COMPLEX)
        return *(const double _Complex *)x == *(const double _Complex *)y;
    return memcmp(x, y, (size_t)size) == 0;
}

static int compares(int cmp, __int128 x, __int128 y)
{
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return x == y;
    case SHMEM_CMP_NE:
        return x != y;
    case SHMEM_CMP_GT:
        return x > y;
    case SHMEM_CMP_GE:
        return x >= y;
    case SHMEM_CMP_LT:
        return x < y;
    default:
        return x <= y;
    }
}

/* What an atomic operation leaves in a word; `word` has at most 8 bytes. */
static void apply_atomic(enum kind kind, int size, unsigned char *word, const void *value,
                         const void *cond)
{
    __int128 x = load_integer(UNSIGNED, size, word), v = load_integer(UNSIGNED, size, value);
    switch (kind) {
    case KIND_ATOMIC_FETCH:
    case KIND_ATOMIC_FETCH_NBI:
        return;
    case KIND_ATOMIC_COMPARE_SWAP:
    case KIND_ATOMIC_COMPARE_SWAP_NBI:
        if (x != load_integer(UNSIGNED, size, cond))
            return;
        x = v;
        break;
    case KIND_ATOMIC_INC:
    case KIND_ATOMIC_FETCH_INC:
    case KIND_ATOMIC_FETCH_INC_NBI:
        x += 1;
        break;
    case KIND_ATOMIC_ADD:
    case KIND_ATOMIC_FETCH_ADD:
    case KIND_ATOMIC_FETCH_ADD_NBI:
    case KIND_SIGNAL_ADD:
        x += v;
        break;
    case KIND_ATOMIC_AND:
    case KIND_ATOMIC_FETCH_AND:
    case KIND_ATOMIC_FETCH_AND_NBI:
        x &= v;
        break;
    case KIND_ATOMIC_OR:
    case KIND_ATOMIC_FETCH_OR:
    case KIND_ATOMIC_FETCH_OR_NBI:
        x |= v;
        break;
    case KIND_ATOMIC_XOR:
    case KIND_ATOMIC_FETCH_XOR:
    case KIND_ATOMIC_FETCH_XOR_NBI:
        x ^= v;
        break;
    default:
        /* set, swap, p */
        x = v;
    }
    store_integer(size, word, x);
}

#endif
