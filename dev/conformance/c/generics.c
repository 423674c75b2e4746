/* C11 generic names, with and without a context, for a choice of types in each family. */
#include "check.h"

static int i_word;
static long l_words[8];
static double d_words[8];
static uint64_t u_word, signal_word;
static float f_word;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), to = right_of(me), from = left_of(me);
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);

    shmem_p(&i_word, me, to);
    shmem_p(ctx, &f_word, (float)me, to);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK(i_word == from && f_word == (float)from);
    CHECK(shmem_g(&i_word, to) == me && shmem_g(ctx, &f_word, to) == (float)me);
    _Static_assert(sizeof shmem_g(&f_word, 0) == sizeof(float), "the type of the object");

    long source[8];
    for (int i = 0; i < 8; i++)
        source[i] = me * 8 + i;
    shmem_barrier_all();
    shmem_put(l_words, source, 4, to);
    shmem_put_nbi(ctx, l_words + 4, source + 4, 4, to);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    for (int i = 0; i < 8; i++)
        CHECK(l_words[i] == from * 8 + i);
    long got[8];
    shmem_get(ctx, got, l_words, 4, to);
    shmem_get_nbi(got + 4, l_words + 4, 4, to);
    shmem_quiet();
    for (int i = 0; i < 8; i++)
        CHECK(got[i] == me * 8 + i);
    shmem_iget(got, l_words, 1, 2, 4, to);
    CHECK(got[3] == me * 8 + 6);
    shmem_ibget(got, l_words, 2, 4, 2, 2, to);
    CHECK(got[2] == me * 8 + 4 && got[3] == me * 8 + 5);
    shmem_barrier_all();
    shmem_iput(ctx, l_words, source, 2, 1, 4, to);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK(l_words[6] == from * 8 + 3);

    shmem_atomic_set(&u_word, 5, to);
    shmem_atomic_add(ctx, &u_word, 6, to);
    shmem_atomic_inc(&u_word, to);
    CHECK(shmem_atomic_fetch(&u_word, to) == 12);
    CHECK(shmem_atomic_fetch_add(&u_word, 3, to) == 12);
    CHECK(shmem_atomic_fetch_inc(ctx, &u_word, to) == 15);
    CHECK(shmem_atomic_swap(&u_word, 20, to) == 16);
    CHECK(shmem_atomic_compare_swap(&u_word, 20, 0xF0, to) == 20);
    CHECK(shmem_atomic_fetch_or(&u_word, 0x0F, to) == 0xF0);
    CHECK(shmem_atomic_fetch_and(&u_word, 0x3C, to) == 0xFF);
    CHECK(shmem_atomic_fetch_xor(&u_word, 1, to) == 0x3C);
    shmem_atomic_or(&u_word, 2, to);
    shmem_atomic_and(&u_word, 0x0F, to);
    shmem_atomic_xor(&u_word, 0x0F, to);
    uint64_t fetched;
    shmem_atomic_fetch_nbi(&fetched, &u_word, to);
    shmem_quiet();
    CHECK(fetched == 0, "%#lx", (unsigned long)fetched);
    shmem_atomic_fetch_add_nbi(ctx, &fetched, &u_word, 9, to);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    shmem_wait_until(&u_word, SHMEM_CMP_EQ, 9);
    CHECK(shmem_test(&u_word, SHMEM_CMP_GT, 8));
    size_t index;
    CHECK(shmem_wait_until_some(&u_word, 1, &index, NULL, SHMEM_CMP_EQ, 9) == 1 && index == 0);
    CHECK(shmem_wait_until_any(&u_word, 1, NULL, SHMEM_CMP_EQ, 9) == 0);
    shmem_wait_until_all(&u_word, 1, NULL, SHMEM_CMP_EQ, 9);
    CHECK(shmem_test_any(&u_word, 1, NULL, SHMEM_CMP_EQ, 10) == SIZE_MAX);

    shmem_put_signal(d_words, &(double){me + 0.5}, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, to);
    shmem_put_signal_nbi(ctx, d_words + 1, &(double){me + 0.25}, 1, &signal_word, 1,
                         SHMEM_SIGNAL_ADD, to);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 2);
    CHECK(d_words[0] == from + 0.5 && d_words[1] == from + 0.25);
    shmem_ctx_quiet(ctx);

    static double d_source[1], d_dest[64];
    REQUIRE(n <= 64);
    d_source[0] = me;
    shmem_barrier_all();
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, d_dest, d_source, 1) == 0);
    CHECK(d_dest[0] == n * (n - 1) / 2);
    shmem_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, d_dest, d_source, 1) == 0 && d_dest[n - 1] == n - 1);
    shmem_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, d_dest, d_source, 1, n - 1) == 0 && d_dest[0] == n - 1);
    shmem_sync(SHMEM_TEAM_WORLD);
    CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, d_dest, d_source, 1) == 0);
    CHECK(d_dest[0] == me * (me + 1) / 2);
    shmem_ctx_destroy(ctx);
    shmem_finalize();
    return check_status();
}
