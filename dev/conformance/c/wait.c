/* Point-to-point synchronisation: wait and test, one, any, some, all, with values and vectors of
 * values, every comparison, every type, status masks and empty sets. */
#include "check.h"

enum { N = 7 };

static const int comparisons[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT,
                                  SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};

/* What `shmem_test(a cmp b)` should be. */
static int holds(int cmp, long a, long b)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: return a == b;
    case SHMEM_CMP_NE: return a != b;
    case SHMEM_CMP_GT: return a > b;
    case SHMEM_CMP_GE: return a >= b;
    case SHMEM_CMP_LT: return a < b;
    default: return a <= b;
    }
}

static int unique_indices(const size_t *indices, size_t n, int *seen)
{
    for (size_t i = 0; i < n; i++) {
        if (indices[i] >= N || seen[indices[i]])
            return 0;
        seen[indices[i]] = 1;
    }
    return 1;
}

#define TEST_TYPE(type, name)                                                                      \
    /* On values that do not change: results are exact. */                                         \
    static void name##_at_rest(void)                                                               \
    {                                                                                              \
        static type v[N];                                                                          \
        type wanted[N];                                                                            \
        size_t indices[N];                                                                         \
        int all_masked[N], mask[N] = {0, 1, 0, 1, 0, 0, 1};                                        \
        for (int i = 0; i < N; i++) {                                                              \
            shmem_##name##_atomic_set(&v[i], (type)(i + 3), shmem_my_pe());                        \
            wanted[i] = (type)(i % 2 ? i + 3 : 0);                                                 \
            all_masked[i] = 1 + i;                                                                 \
        }                                                                                          \
        for (size_t c = 0; c < 6; c++) {                                                           \
            int cmp = comparisons[c], many = 0, many_masked = 0;                                   \
            for (int i = 0; i < N; i++) {                                                          \
                int one = holds(cmp, i + 3, 6);                                                    \
                CHECK(shmem_##name##_test(&v[i], cmp, 6) == one, #name " test %d %d", cmp, i);     \
                if (one)                                                                           \
                    shmem_##name##_wait_until(&v[i], cmp, 6);                                      \
                many += one;                                                                       \
                many_masked += one && !mask[i];                                                    \
            }                                                                                      \
            int seen[N] = {0};                                                                     \
            CHECK(shmem_##name##_test_all(v, N, NULL, cmp, 6) == (many == N), #name);              \
            CHECK(shmem_##name##_test_some(v, N, indices, NULL, cmp, 6) == (size_t)many, #name);   \
            CHECK(unique_indices(indices, (size_t)many, seen), #name " test_some");             \
            size_t any = shmem_##name##_test_any(v, N, mask, cmp, 6);                              \
            CHECK(many_masked == 0 ? any == SIZE_MAX                                               \
                                   : any < N && !mask[any] && holds(cmp, (long)any + 3, 6),        \
                  #name " test_any %zu", any);                                                     \
            size_t some = shmem_##name##_test_some(v, N, indices, mask, cmp, 6);                   \
            CHECK(some == (size_t)many_masked, #name " test_some masked %zu", some);               \
            for (size_t i = 0; i < some; i++)                                                      \
                CHECK(!mask[indices[i]] && holds(cmp, (long)indices[i] + 3, 6), #name);            \
            if (many_masked) {                                                                     \
                some = shmem_##name##_wait_until_some(v, N, indices, mask, cmp, 6);                \
                CHECK(some >= 1 && some <= (size_t)many_masked, #name " wait some %zu", some);     \
                any = shmem_##name##_wait_until_any(v, N, mask, cmp, 6);                           \
                CHECK(any < N && !mask[any] && holds(cmp, (long)any + 3, 6), #name);               \
            }                                                                                      \
        }                                                                                          \
        /* An any in a series must not favour one index for ever: mask what was returned. */       \
        int open[N] = {0};                                                                         \
        for (int i = 0; i < N; i++) {                                                              \
            size_t any = shmem_##name##_wait_until_any(v, N, open, SHMEM_CMP_GT, 0);               \
            REQUIRE(any < N && !open[any], #name " any %zu", any);                                 \
            open[any] = 1;                                                                         \
        }                                                                                          \
        CHECK(shmem_##name##_wait_until_any(v, N, open, SHMEM_CMP_GT, 0) == SIZE_MAX, #name);      \
        /* Nor without a mask: every index comes up in each of two series of calls. */             \
        for (size_t n = N - 1; n <= N; n++) {                                                      \
            int met_wait[N] = {0}, met_test[N] = {0}, met = 0, all = 2 * (int)n;                   \
            for (int i = 0; i < 1000 * N && met < all; i++) {                                      \
                size_t one = shmem_##name##_wait_until_any(v, n, NULL, SHMEM_CMP_GT, 0);           \
                size_t other = shmem_##name##_test_any(v, n, NULL, SHMEM_CMP_GT, 0);               \
                REQUIRE(one < n && other < n, #name " any");                                       \
                met += !met_wait[one]++ + !met_test[other]++;                                      \
            }                                                                                      \
            CHECK(met == all, #name " wait_until_any and test_any return %d of %d", met, all);     \
        }                                                                                          \
        /* Vectors: odd indices are equal to what is wanted. */                                    \
        CHECK(shmem_##name##_test_all_vector(v, N, NULL, SHMEM_CMP_EQ, wanted) == 0, #name);       \
        CHECK(shmem_##name##_test_all_vector(v, N, NULL, SHMEM_CMP_GE, wanted) == 1, #name);       \
        CHECK(shmem_##name##_test_some_vector(v, N, indices, NULL, SHMEM_CMP_EQ, wanted) == N / 2, \
              #name);                                                                              \
        size_t any = shmem_##name##_test_any_vector(v, N, NULL, SHMEM_CMP_EQ, wanted);             \
        CHECK(any < N && any % 2 == 1, #name " test_any_vector %zu", any);                         \
        any = shmem_##name##_wait_until_any_vector(v, N, mask, SHMEM_CMP_EQ, wanted);              \
        CHECK(any == 5, #name " wait_until_any_vector %zu", any);                                  \
        size_t some = shmem_##name##_wait_until_some_vector(v, N, indices, mask, SHMEM_CMP_EQ,     \
                                                            wanted);                               \
        CHECK(some == 1 && indices[0] == 5, #name " wait_until_some_vector %zu", some);            \
        shmem_##name##_wait_until_all_vector(v, N, NULL, SHMEM_CMP_GE, wanted);                    \
        shmem_##name##_wait_until_all(v, N, NULL, SHMEM_CMP_GT, 2);                                \
        shmem_##name##_wait_until_all(v, N, mask, SHMEM_CMP_NE, 4);                                \
        /* Empty sets. */                                                                          \
        for (int k = 0; k < 2; k++) {                                                              \
            size_t n = k ? N : 0;                                                                  \
            const int *status = k ? all_masked : NULL;                                             \
            shmem_##name##_wait_until_all(v, n, status, SHMEM_CMP_EQ, 100);                        \
            shmem_##name##_wait_until_all_vector(v, n, status, SHMEM_CMP_EQ, wanted);              \
            CHECK(shmem_##name##_wait_until_any(v, n, status, SHMEM_CMP_EQ, 100) == SIZE_MAX);     \
            CHECK(shmem_##name##_wait_until_some(v, n, indices, status, SHMEM_CMP_EQ, 100) == 0);  \
            CHECK(shmem_##name##_wait_until_any_vector(v, n, status, SHMEM_CMP_EQ, wanted) ==      \
                  SIZE_MAX);                                                                       \
            CHECK(shmem_##name##_wait_until_some_vector(v, n, indices, status, SHMEM_CMP_EQ,       \
                                                        wanted) == 0);                             \
            CHECK(shmem_##name##_test_all(v, n, status, SHMEM_CMP_EQ, 100) == 1, #name);           \
            CHECK(shmem_##name##_test_all_vector(v, n, status, SHMEM_CMP_EQ, wanted) == 1);        \
            CHECK(shmem_##name##_test_any(v, n, status, SHMEM_CMP_EQ, 100) == SIZE_MAX);           \
            CHECK(shmem_##name##_test_any_vector(v, n, status, SHMEM_CMP_EQ, wanted) == SIZE_MAX); \
            CHECK(shmem_##name##_test_some(v, n, indices, status, SHMEM_CMP_EQ, 100) == 0);        \
            CHECK(shmem_##name##_test_some_vector(v, n, indices, status, SHMEM_CMP_EQ, wanted) ==  \
                  0);                                                                              \
        }                                                                                          \
        shmem_barrier_all();                                                                       \
    }                                                                                              \
                                                                                                   \
    /* On values that the left neighbour sets one by one. */                                       \
    static void name##_moving(void)                                                                \
    {                                                                                              \
        static type v[N];                                                                          \
        static int go;                                                                             \
        int me = shmem_my_pe(), to = right_of(me);                                                 \
        type rising[N];                                                                            \
        size_t indices[N];                                                                         \
        for (int form = 0; form < 8; form++) {                                                     \
            for (int i = 0; i < N; i++) {                                                          \
                v[i] = 0;                                                                          \
                rising[i] = (type)(i + 1);                                                         \
            }                                                                                      \
            shmem_int_atomic_set(&go, 0, me);                                                      \
            shmem_barrier_all();                                                                   \
            for (int i = N - 1; i >= 0; i--)                                                       \
                shmem_##name##_atomic_set(&v[i], rising[i], to);                                   \
            int done[N] = {0};                                                                     \
            size_t count = 0, got;                                                                 \
            switch (form) {                                                                        \
            case 0:                                                                                \
                for (int i = 0; i < N; i++)                                                        \
                    shmem_##name##_wait_until(&v[i], SHMEM_CMP_EQ, rising[i]);                     \
                break;                                                                             \
            case 1: shmem_##name##_wait_until_all(v, N, NULL, SHMEM_CMP_GT, 0); break;             \
            case 2: shmem_##name##_wait_until_all_vector(v, N, NULL, SHMEM_CMP_EQ, rising); break; \
            case 3:                                                                                \
                for (; count < N; count++) {                                                       \
                    got = shmem_##name##_wait_until_any(v, N, done, SHMEM_CMP_NE, 0);              \
                    REQUIRE(got < N && !done[got], #name " any %zu", got);                         \
                    done[got] = 1;                                                                 \
                }                                                                                  \
                break;                                                                             \
            case 4:                                                                                \
                while (count < N) {                                                                \
                    got = shmem_##name##_wait_until_some_vector(v, N, indices, done, SHMEM_CMP_EQ, \
                                                                rising);                           \
                    REQUIRE(got >= 1 && got <= N, #name " some %zu", got);                         \
                    CHECK(unique_indices(indices, got, done), #name " some_vector");            \
                    count += got;                                                                  \
                }                                                                                  \
                break;                                                                             \
            case 5:                                                                                \
                while (count < N) {                                                                \
                    got = shmem_##name##_test_some(v, N, indices, done, SHMEM_CMP_GE, 1);          \
                    CHECK(unique_indices(indices, got, done), #name " test_some");              \
                    count += got;                                                                  \
                }                                                                                  \
                break;                                                                             \
            case 6:                                                                                \
                while (count < N) {                                                                \
                    got = shmem_##name##_test_any_vector(v, N, done, SHMEM_CMP_EQ, rising);        \
                    if (got == SIZE_MAX)                                                           \
                        continue;                                                                  \
                    REQUIRE(got < N && !done[got], #name " any %zu", got);                         \
                    done[got] = 1;                                                                 \
                    count++;                                                                       \
                }                                                                                  \
                break;                                                                             \
            default:                                                                               \
                while (!shmem_##name##_test_all_vector(v, N, NULL, SHMEM_CMP_EQ, rising))          \
                    ;                                                                              \
            }                                                                                      \
            for (int i = 0; i < N; i++)                                                            \
                CHECK(v[i] == rising[i], #name " form %d element %d", form, i);                    \
            shmem_barrier_all();                                                                   \
        }                                                                                          \
    }

AMO_TYPES(TEST_TYPE)

/* Comparisons are signed or unsigned as the type is. */
static void signedness(void)
{
    static int negative = -1;
    static unsigned int largest = UINT32_MAX;
    static long long least = INT64_MIN;
    static uint64_t top = UINT64_MAX;
    CHECK(shmem_int_test(&negative, SHMEM_CMP_LT, 0) == 1);
    CHECK(shmem_int_test(&negative, SHMEM_CMP_GT, 0) == 0);
    CHECK(shmem_uint_test(&largest, SHMEM_CMP_GT, 0) == 1);
    CHECK(shmem_uint_test(&largest, SHMEM_CMP_LE, 0) == 0);
    CHECK(shmem_longlong_test(&least, SHMEM_CMP_LE, -1) == 1);
    CHECK(shmem_uint64_test(&top, SHMEM_CMP_GE, 1) == 1);
}

/* A waiter in the far end of a chain: each PE wakes the next, much later than a spin lasts. */
static void chain(void)
{
    static int baton;
    int me = shmem_my_pe(), n = shmem_n_pes();
    baton = 0;
    shmem_barrier_all();
    for (int lap = 1; lap <= 20; lap++) {
        if (me == 0)
            shmem_int_atomic_set(&baton, lap, right_of(me));
        shmem_int_wait_until(&baton, SHMEM_CMP_EQ, lap);
        if (me != 0)
            shmem_int_atomic_set(&baton, lap, right_of(me));
        if (n > 1 && me == 0)
            CHECK(baton == lap);
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
#define RUN(type, name) name##_at_rest(); name##_moving();
    AMO_TYPES(RUN)
    signedness();
    chain();
    return finish();
}
