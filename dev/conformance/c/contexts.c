/* Communication contexts: options, PE numbers of a team's context, sessions, invalid handles. */
#include "check.h"

static int word;
static long words[4];
static uint64_t signal_word;

static void options(void)
{
    static const long all[] = {0,
                               SHMEM_CTX_SERIALIZED,
                               SHMEM_CTX_PRIVATE,
                               SHMEM_CTX_NOSTORE,
                               SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE,
                               SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    int me = shmem_my_pe(), to = right_of(me), from = left_of(me);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        shmem_team_t team = SHMEM_TEAM_INVALID;
        REQUIRE(shmem_ctx_create(all[i], &ctx) == 0, "options %ld", all[i]);
        CHECK(ctx != SHMEM_CTX_INVALID && ctx != SHMEM_CTX_DEFAULT);
        CHECK(shmem_ctx_get_team(ctx, &team) == 0 && team == SHMEM_TEAM_WORLD);
        shmem_ctx_int_p(ctx, &word, 500 + me + (int)i, to);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        CHECK(word == 500 + from + (int)i, "%d", word);
        shmem_barrier_all();
        shmem_ctx_int_put_nbi(ctx, &word, &(int){600 + me}, 1, to);
        shmem_ctx_fence(ctx);
        shmem_ctx_destroy(ctx); /* completes what is pending */
        shmem_barrier_all();
        CHECK(word == 600 + from, "%d", word);
        shmem_barrier_all();
    }
}

static void many(void)
{
    enum { MANY = 500 };
    shmem_ctx_t ctx[MANY];
    for (int i = 0; i < MANY; i++) {
        REQUIRE(shmem_ctx_create(0, &ctx[i]) == 0, "context %d", i);
        for (int k = 0; k < i; k += 17)
            CHECK(ctx[i] != ctx[k]);
    }
    for (int i = 0; i < MANY; i++)
        shmem_ctx_int_atomic_inc(ctx[i], &word, shmem_my_pe());
    for (int i = 0; i < MANY; i++)
        shmem_ctx_destroy(ctx[(i * 7) % MANY]);
    /* Created and destroyed for ever: nothing runs out. */
    for (int i = 0; i < 20000; i++) {
        shmem_ctx_t one;
        REQUIRE(shmem_ctx_create(i % 3 ? SHMEM_CTX_PRIVATE : 0, &one) == 0, "round %d", i);
        shmem_ctx_destroy(one);
    }
    shmem_barrier_all();
}

/* The team holds the odd PEs in reverse: its numbers differ from the world's. */
static void team_context(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), size = n / 2;
    shmem_team_t team, got;
    shmem_team_config_t config = {.num_contexts = 2};
    if (size == 0)
        return;
    int last_odd = n % 2 ? n - 2 : n - 1;
    int rc = shmem_team_split_strided(SHMEM_TEAM_WORLD, last_odd, -2, size, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &team);
    CHECK(rc == 0);
    memset(words, 0, sizeof words);
    signal_word = 0;
    word = -1;
    shmem_barrier_all();
    if (team != SHMEM_TEAM_INVALID) {
        shmem_ctx_t ctx;
        int my = shmem_team_my_pe(team), to = (my + 1) % size, from = (my + size - 1) % size;
        REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0);
        CHECK(shmem_ctx_get_team(ctx, &got) == 0 && got == team);
        CHECK(my == (last_odd - me) / 2, "%d", my);
        shmem_ctx_int_p(ctx, &word, my, to);
        shmem_ctx_long_put(ctx, words, (long[]){my, my + 1, my + 2}, 3, to);
        shmem_ctx_long_atomic_add(ctx, &words[3], 10 + my, to);
        shmem_ctx_signal_add(ctx, &signal_word, 5, to);
        shmem_ctx_putmem_signal(ctx, &words[2], &(long){my + 50}, sizeof(long), &signal_word, 6,
                                SHMEM_SIGNAL_ADD, to);
        shmem_ctx_pe_quiet(ctx, &to, 1);
        shmem_ctx_quiet(ctx);
        shmem_team_sync(team);
        CHECK(word == from, "%d", word);
        CHECK(words[0] == from && words[1] == from + 1 && words[2] == from + 50);
        CHECK(words[3] == 10 + from, "%ld", words[3]);
        CHECK(signal_word == 11, "%d", (int)signal_word);
        CHECK(shmem_ctx_int_g(ctx, &word, to) == my);
        long back[2];
        shmem_ctx_long_iget(ctx, back, words, 1, 1, 2, to);
        CHECK(back[0] == my && back[1] == my + 1);
        CHECK(shmem_ctx_long_atomic_fetch(ctx, &words[3], to) == 10 + my);
        shmem_team_sync(team);
        shmem_ctx_destroy(ctx);
        shmem_team_destroy(team);
    } else {
        CHECK(me % 2 == 0);
    }
    shmem_barrier_all();
    if (me % 2 == 0)
        CHECK(word == -1 && words[0] == 0 && signal_word == 0, "a PE outside of the team was met");
    shmem_barrier_all();
}

static void sessions(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_ctx_t ctx;
    shmem_ctx_session_config_t config = {.total_ops = 100};
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);
    word = 0;
    shmem_barrier_all();
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(ctx, 0, NULL, 0);
    for (int i = 0; i < 200; i++) /* more than announced: a hint only */
        shmem_ctx_int_atomic_inc(ctx, &word, (me + i) % n);
    shmem_ctx_quiet(ctx);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_int_atomic_inc(&word, me);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &config, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_barrier_all();
    static int sum;
    sum = 0;
    shmem_barrier_all();
    shmem_int_atomic_add(&sum, word, 0);
    shmem_barrier_all();
    if (me == 0)
        CHECK(sum == 201 * n, "%d", sum);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

static void invalid(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0);
    CHECK(ctx == SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0);
    CHECK(team == SHMEM_TEAM_WORLD);
}

int main(void)
{
    shmem_init();
    options();
    many();
    team_context();
    sessions();
    invalid();
    return finish();
}
