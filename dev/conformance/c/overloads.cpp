// C++17: the same header, overloads in place of C11 generics, complex numbers of the standard
// library, globals that constructors fill before main.
#include "check.h"

// What programs may forbid holds for their own text alone.
#pragma GCC diagnostic error "-Wold-style-cast"
#pragma GCC diagnostic error "-Wzero-as-null-pointer-constant"
#include <shmemx.h>

#include <complex>
#include <type_traits>
#include <vector>

namespace {

struct Built {
    int a;
    explicit Built(int v) : a(v) {}
    ~Built() { a = -1; }
};
Built built(31);
std::vector<int> dynamic{1, 2, 3};
int word;
long words[4];
double reals[64];
std::complex<double> z, z_sum;
unsigned long bits;
std::uint64_t signal_word;

template <typename T> void put_and_get(T first)
{
    static T array[10];
    T source[10], got[10] = {};
    int me = shmem_my_pe();
    for (int i = 0; i < 10; i++)
        source[i] = static_cast<T>(first + static_cast<T>(i));
    shmem_barrier_all();
    shmem_put(array, source, 10, right_of(me));
    shmem_barrier_all();
    shmem_get(got, array, 10, me);
    for (int i = 0; i < 10; i++)
        CHECK(got[i] == source[i]);
    shmem_p(&array[3], first, me);
    CHECK(shmem_g(&array[3], me) == first);
    static_assert(std::is_same<decltype(shmem_g(&array[0], 0)), T>::value, "type of g");
}

} // namespace

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), to = right_of(me), from = left_of(me);
    CHECK(built.a == 31 && dynamic.size() == 3 && dynamic[2] == 3);
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);
    put_and_get<float>(1.5f);
    put_and_get<double>(2.5);
    put_and_get<long double>(3.5L);
    put_and_get<char>('a');
    put_and_get<signed char>(3);
    put_and_get<short>(4);
    put_and_get<int>(5);
    put_and_get<long>(6);
    put_and_get<long long>(7);
    put_and_get<unsigned char>(8);
    put_and_get<unsigned short>(9);
    put_and_get<unsigned int>(10);
    put_and_get<unsigned long>(11);
    put_and_get<unsigned long long>(12);

    shmem_p(ctx, &word, me, to);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK(word == from && shmem_g(ctx, &word, to) == me);
    shmem_int_p(&built.a, 40 + me, to);
    shmem_barrier_all();
    CHECK(built.a == 40 + from);

    CHECK(shmem_atomic_fetch_add(&words[0], 5L, to) == 0);
    CHECK(shmem_atomic_compare_swap(ctx, &words[0], 5L, 6L, to) == 5);
    shmem_atomic_or(&bits, 12ul, to);
    CHECK(shmem_atomic_fetch_and(&bits, 4ul, to) == 12);
    shmem_barrier_all();
    shmem_wait_until(&words[0], SHMEM_CMP_EQ, 6L);
    CHECK(shmem_test(&words[0], SHMEM_CMP_GE, 6L));
    shmem_barrier_all();
    long source[4] = {1, 2, 3, me};
    shmem_put_signal(words, source, 4, &signal_word, 9, SHMEM_SIGNAL_SET, to);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 9);
    CHECK(words[3] == from);
    shmem_barrier_all();

    z = std::complex<double>(me, 1);
    shmem_barrier_all();
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &z_sum, &z, 1) == 0);
    CHECK(z_sum == std::complex<double>(n * (n - 1) / 2, n));
    REQUIRE(n <= 64);
    static double mine;
    mine = me + 0.5;
    shmem_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, reals, &mine, 1) == 0 && reals[n - 1] == n - 0.5);

    // Macros of extensions take arrays, and evaluate each argument once.
    CHECK(shmemx_sum_reduce_root(SHMEM_TEAM_WORLD, reals, &mine, 1, 0) == 0 && (me != 0 || reals[0] == n * n / 2.0));
    double *block = reals;
    const double *first = &mine;
    CHECK(shmemx_gather(SHMEM_TEAM_WORLD, block++, first++, 1, 0) == 0 && block == reals + 1 && first == &mine + 1);
    shmem_ctx_destroy(ctx);
    return finish();
}
