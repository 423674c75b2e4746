/* Reductions and scans: every operation on every type, on teams of several shapes, in place and
 * apart, from no element to many. */
#include "check.h"

#include <complex.h>

enum { MOST = 5000 };

static int me, n;
#ifdef BRIEF
static const size_t counts[] = {1, MOST};
#else
static const size_t counts[] = {0, 1, 2, 5, 64, 1000, MOST};
#endif
enum { COUNTS = sizeof counts / sizeof *counts };

/* The `i`th element of PE `pe`: small, so that a product of 16 stays exact. */
#define ELEMENT(type, pe, i) ((type)(1 + ((pe) + (i)) % 2))
#define BITS(type, pe, i) ((type)(((pe)*5 + (i)*3 + 1) & 0x7F))

/* One operation on one type: apart and in place, over the team. */
#define TEST_OP(type, name, op, combine, element)                                                  \
    static void name##_##op(shmem_team_t team)                                                     \
    {                                                                                              \
        static type source[MOST + 1], dest[MOST + 1];                                              \
        int size = shmem_team_n_pes(team);                                                         \
        for (int c = 0; c < COUNTS; c++) {                                                         \
            size_t k = counts[c];                                                                  \
            if (k > 64 && sizeof(type) < 4)                                                        \
                continue;                                                                          \
            for (int in_place = 0; in_place < 2; in_place++) {                                     \
                type *to = in_place ? source : dest;                                               \
                for (size_t i = 0; i <= k; i++) {                                                  \
                    source[i] = element(type, me, (int)i);                                         \
                    dest[i] = (type)99;                                                            \
                }                                                                                  \
                to[k] = (type)99;                                                                  \
                shmem_team_sync(team);                                                             \
                CHECK(shmem_##name##_##op##_reduce(team, to, source, k) == 0);                     \
                for (size_t i = 0; i < k; i++) {                                                   \
                    int first = shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD);                \
                    type want = element(type, first, (int)i);                                      \
                    for (int pe = 1; pe < size; pe++) {                                            \
                        int world = shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);           \
                        want = (type)combine(want, element(type, world, (int)i));                  \
                    }                                                                              \
                    CHECK(to[i] == want, "%s %s of %zu, element %zu", #name, #op, k, i);           \
                    if (!in_place)                                                                 \
                        CHECK(source[i] == element(type, me, (int)i), "source was changed");       \
                    if (i > 70)                                                                    \
                        i += 41;                                                                   \
                }                                                                                  \
                CHECK(to[k] == (type)99, "%s %s of %zu: one too many", #name, #op, k);             \
                shmem_team_sync(team);                                                             \
            }                                                                                      \
        }                                                                                          \
    }

#define TEST_SCAN(type, name)                                                                      \
    static void name##_scan(shmem_team_t team)                                                     \
    {                                                                                              \
        static type source[MOST + 1], dest[MOST + 1];                                              \
        int my = shmem_team_my_pe(team);                                                           \
        for (int form = 0; form < 4; form++)                                                       \
            for (int c = 0; c < COUNTS; c++) {                                                     \
                int inclusive = form % 2;                                                          \
                size_t k = counts[c];                                                              \
                if (k > 64 && sizeof(type) < 4)                                                    \
                    continue;                                                                      \
                type *to = form / 2 ? source : dest;                                               \
                for (size_t i = 0; i <= k; i++) {                                                  \
                    source[i] = ELEMENT(type, me, (int)i);                                         \
                    dest[i] = (type)99;                                                            \
                }                                                                                  \
                to[k] = (type)99;                                                                  \
                shmem_team_sync(team);                                                             \
                CHECK((inclusive ? shmem_##name##_sum_inscan(team, to, source, k)                  \
                                 : shmem_##name##_sum_exscan(team, to, source, k)) == 0);          \
                for (size_t i = 0; i < k; i++) {                                                   \
                    type want = 0;                                                                 \
                    for (int pe = 0; pe < my + inclusive; pe++) {                                  \
                        int world = shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);           \
                        want = (type)(want + ELEMENT(type, world, (int)i));                        \
                    }                                                                              \
                    CHECK(to[i] == want, "%s scan %d of %zu, element %zu", #name, form, k, i);     \
                    if (i > 70)                                                                    \
                        i += 41;                                                                   \
                }                                                                                  \
                CHECK(to[k] == (type)99, "%s scan: one too many", #name);                          \
                shmem_team_sync(team);                                                             \
            }                                                                                      \
    }

#define ARITHMETIC(type, name)                                                                     \
    TEST_OP(type, name, sum, SUM_OF, ELEMENT)                                                      \
    TEST_OP(type, name, prod, PROD_OF, ELEMENT)                                                    \
    TEST_SCAN(type, name)

#define ORDERED(type, name)                                                                        \
    ARITHMETIC(type, name)                                                                         \
    TEST_OP(type, name, max, MAX_OF, BITS)                                                         \
    TEST_OP(type, name, min, MIN_OF, BITS)

#define BITWISE(type, name)                                                                        \
    ORDERED(type, name)                                                                            \
    TEST_OP(type, name, and, AND_OF, BITS)                                                         \
    TEST_OP(type, name, or, OR_OF, BITS)                                                           \
    TEST_OP(type, name, xor, XOR_OF, BITS)

#ifdef BRIEF
#undef BITWISE_TYPES
#undef ORDERED_TYPES
#define BITWISE_TYPES(X) X(uint64_t, uint64)
#define ORDERED_TYPES(X) X(long, long) X(double, double)
#define COMPLEX_TYPES(X) X(double _Complex, complexd)
#else
#define COMPLEX_TYPES(X) X(double _Complex, complexd) X(float _Complex, complexf)
#endif

BITWISE_TYPES(BITWISE)
ORDERED_TYPES(ORDERED)
COMPLEX_TYPES(ARITHMETIC)

static void all_types(shmem_team_t team)
{
#define RUN_ARITHMETIC(type, name) name##_sum(team), name##_prod(team), name##_scan(team);
#define RUN_ORDERED(type, name) RUN_ARITHMETIC(type, name) name##_max(team), name##_min(team);
#define RUN_BITWISE(type, name)                                                                    \
    RUN_ORDERED(type, name) name##_and(team), name##_or(team), name##_xor(team);
    BITWISE_TYPES(RUN_BITWISE)
    ORDERED_TYPES(RUN_ORDERED)
    COMPLEX_TYPES(RUN_ARITHMETIC)
}

/* Imaginary parts, negative numbers, and the order of signed and unsigned. */
static void corners(void)
{
    static double _Complex z[2], product[2];
    static int least[2], lowest[2];
    static uint64_t large[1], highest[1];
    static double real[1], smallest[1];
    z[0] = 0.0 + 1.0 * I;
    z[1] = me == 0 ? 2.0 - 1.0 * I : 1.0;
    least[0] = -me;
    least[1] = me;
    large[0] = UINT64_MAX - (uint64_t)me;
    real[0] = 1.0 / (1 + me);
    shmem_barrier_all();
    shmem_complexd_prod_reduce(SHMEM_TEAM_WORLD, product, z, 2);
    static const double re[4] = {1, 0, -1, 0}, im[4] = {0, 1, 0, -1};
    CHECK(creal(product[0]) == re[n % 4] && cimag(product[0]) == im[n % 4], "i to the power %d", n);
    CHECK(creal(product[1]) == 2.0 && cimag(product[1]) == -1.0);
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, lowest, least, 2);
    CHECK(lowest[0] == -(n - 1) && lowest[1] == 0, "%d %d", lowest[0], lowest[1]);
    shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, highest, large, 1);
    CHECK(highest[0] == UINT64_MAX);
    shmem_double_min_reduce(SHMEM_TEAM_WORLD, smallest, real, 1);
    CHECK(smallest[0] == 1.0 / n);
    /* All PEs must have the same bits. */
    static double sum[1], sums[64];
    shmem_barrier_all();
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, real, 1);
    shmem_double_fcollect(SHMEM_TEAM_WORLD, sums, sum, 1);
    for (int pe = 0; pe < n; pe++)
        CHECK(memcmp(&sums[pe], sum, sizeof *sum) == 0, "PE %d has another sum", pe);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    all_types(SHMEM_TEAM_WORLD);
    shmem_team_t reversed, odd = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reversed);
    if (n > 2) {
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &odd);
        if (odd != SHMEM_TEAM_INVALID)
            all_types(odd);
    }
    long_sum(reversed);
    double_scan(reversed);
    corners();
    return finish();
}
