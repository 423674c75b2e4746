/* Ordering: data put before a fence is there when the flag put after it is; quiet completes;
 * a loop that spins on a get or on its own variable sees the update. */
#include "check.h"

enum { ROUNDS = REPEAT(300, 4), WORDS = 130 };

static long data[WORDS];
static long flag;
static int turn;
static long long spun;

/* Each PE streams blocks to its right neighbour; the neighbour acknowledges by an AMO. */
static void put_fence_flag(int form)
{
    static long acknowledged;
    int me = shmem_my_pe(), to = right_of(me), from = left_of(me);
    long source[WORDS];
    flag = acknowledged = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++)
            source[i] = round * 1000 + i + me;
        switch (form) {
        case 0:
            shmem_long_put(data, source, WORDS, to);
            shmem_fence();
            shmem_long_p(&flag, round, to);
            break;
        case 1:
            shmem_long_put_nbi(data, source, WORDS, to);
            shmem_fence();
            shmem_long_atomic_set(&flag, round, to);
            break;
        case 2:
            for (int i = 0; i < WORDS; i++)
                shmem_long_p(&data[i], source[i], to);
            shmem_quiet();
            shmem_long_atomic_inc(&flag, to);
            break;
        default:
            shmem_long_iput(data, source, 2, 2, WORDS / 2, to);
            shmem_long_iput(data + 1, source + 1, 2, 2, WORDS / 2, to);
            shmem_pe_quiet(&to, 1);
            shmem_long_put(&flag, &round, 1, to);
            break;
        }
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        CHECK(flag == round, "round %ld: flag %ld", round, flag);
        for (int i = 0; i < WORDS; i++)
            CHECK(data[i] == round * 1000 + i + from, "form %d round %ld word %d: %ld", form, round,
                  i, data[i]);
        shmem_long_atomic_inc(&acknowledged, from);
        shmem_long_wait_until(&acknowledged, SHMEM_CMP_GE, round);
        shmem_quiet();
    }
    shmem_barrier_all();
}

/* PEs take turns, each looking by g or a one-element get at a word of PE 0. */
static void spin_on_get(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    turn = 0;
    spun = 0;
    shmem_barrier_all();
    for (int round = 0; round < 3; round++) {
        while (shmem_int_g(&turn, 0) != round * n + me)
            ;
        shmem_int_p(&turn, round * n + me + 1, 0);
    }
    shmem_barrier_all();
    for (int round = 0; round < 3; round++) {
        long long seen;
        do
            shmem_longlong_get(&seen, &spun, 1, 0);
        while (seen != round * n + me);
        seen++;
        shmem_longlong_put(&spun, &seen, 1, 0);
    }
    shmem_barrier_all();
    if (me == 0) {
        CHECK(turn == 3 * n, "%d", turn);
        CHECK(spun == 3 * n, "%lld", spun);
    }
    /* Only one's own word, by g on oneself and by shmem_int_test. */
    turn = 0;
    shmem_barrier_all();
    shmem_int_p(&turn, 1, right_of(me));
    while (shmem_int_g(&turn, me) != 1)
        ;
    shmem_barrier_all();
    shmem_int_p(&turn, 2, right_of(me));
    while (!shmem_int_test(&turn, SHMEM_CMP_EQ, 2))
        ;
    shmem_barrier_all();
}

/* Local stores made before a barrier are seen by a get after it, and the other way round. */
static void barrier_orders_stores(void)
{
    static int words[64];
    int me = shmem_my_pe(), to = right_of(me);
    for (int round = 0; round < REPEAT(50, 4); round++) {
        for (int i = 0; i < 64; i++)
            words[i] = round * 64 + i;
        shmem_barrier_all();
        for (int i = 0; i < 64; i++)
            CHECK(shmem_int_g(&words[i], to) == round * 64 + i, "round %d", round);
        shmem_barrier_all();
        shmem_int_p(&words[round], -1, to);
        if (round % 2)
            shmem_barrier_all();
        else {
            shmem_quiet();
            shmem_sync_all();
        }
        CHECK(words[round] == -1);
        shmem_barrier_all();
    }
}

static void on_contexts(void)
{
    int me = shmem_my_pe(), to = right_of(me), from = left_of(me);
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    flag = 0;
    shmem_barrier_all();
    for (long round = 1; round <= REPEAT(50, 4); round++) {
        long value = round * 10 + me;
        shmem_ctx_long_put_nbi(ctx, data, &value, 1, to);
        shmem_ctx_fence(ctx);
        shmem_ctx_long_atomic_set(ctx, &flag, round, to);
        shmem_ctx_quiet(ctx);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        CHECK(data[0] == round * 10 + from, "round %ld", round);
        shmem_ctx_pe_quiet(ctx, &to, 1);
        shmem_pe_quiet(NULL, 0);
        shmem_barrier_all();
    }
    shmem_ctx_destroy(ctx);
}

int main(void)
{
    shmem_init();
    for (int form = 0; form < 4; form++)
        put_fence_flag(form);
    spin_on_get();
    barrier_orders_stores();
    on_contexts();
    return finish();
}
