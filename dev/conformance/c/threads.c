/* SHMEM_THREAD_MULTIPLE: threads of every PE do AMOs, puts with own contexts, waits, locks'
 * critical regions and collectives on different teams at the same time. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };

static long sum;
static int flags[THREADS];
static int data[THREADS][32];
static long acknowledged[THREADS];
static shmem_team_t teams[THREADS];
static long team_source[THREADS], team_sum[THREADS];
static int own_word[THREADS];

static void *work(void *argument)
{
    int id = (int)(intptr_t)argument;
    int me = shmem_my_pe(), n = shmem_n_pes(), to = right_of(me), from = left_of(me);
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(id % 2 ? SHMEM_CTX_PRIVATE : 0, &ctx) == 0);
    for (int round = 1; round <= ROUNDS; round++) {
        shmem_long_atomic_add(&sum, id + 1, round % n);
        int source[32];
        for (int i = 0; i < 32; i++)
            source[i] = round * 100 + id * 10 + me + i;
        shmem_ctx_int_put(ctx, data[id], source, 32, to);
        shmem_ctx_fence(ctx);
        shmem_ctx_int_atomic_set(ctx, &flags[id], round, to);
        shmem_int_wait_until(&flags[id], SHMEM_CMP_EQ, round);
        for (int i = 0; i < 32; i++)
            CHECK(data[id][i] == round * 100 + id * 10 + from + i, "thread %d round %d", id, round);
        shmem_long_atomic_inc(&acknowledged[id], from);
        shmem_long_wait_until(&acknowledged[id], SHMEM_CMP_GE, round);
        shmem_ctx_quiet(ctx);
        shmem_int_p(&own_word[id], round, to);
        shmem_quiet();
        CHECK(shmem_int_g(&own_word[id], to) == round, "thread %d round %d", id, round);
    }
    for (int round = 0; round < 20; round++) {
        team_source[id] = me + round;
        CHECK(shmem_team_sync(teams[id]) == 0);
        CHECK(shmem_long_sum_reduce(teams[id], &team_sum[id], &team_source[id], 1) == 0);
        CHECK(team_sum[id] == (long)n * (n - 1) / 2 + (long)n * round, "thread %d: %ld", id,
              team_sum[id]);
        CHECK(shmem_team_sync(teams[id]) == 0);
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

/* One thread waits for what another thread of the same PE does. */
static int handed_over;
static void *hand_over(void *argument)
{
    (void)argument;
    for (int i = 1; i <= 100; i += 2) {
        shmem_int_wait_until(&handed_over, SHMEM_CMP_EQ, i);
        shmem_int_atomic_inc(&handed_over, shmem_my_pe());
    }
    return NULL;
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == SHMEM_THREAD_MULTIPLE, "%d", provided);
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int t = 0; t < THREADS; t++)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &teams[t]);
    /* A first context of the main thread's: what the library makes once is made before the
     * threads start, where thread sanitizers cannot follow the library's own "once". */
    shmem_ctx_t first;
    REQUIRE(shmem_ctx_create(0, &first) == 0);
    shmem_barrier_all();
    pthread_t threads[THREADS];
    for (intptr_t t = 0; t < THREADS; t++)
        REQUIRE(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    shmem_barrier_all();
    long want = 0;
    for (int round = 1; round <= ROUNDS; round++)
        if (round % n == me)
            want += (long)n * THREADS * (THREADS + 1) / 2;
    CHECK(sum == want, "%ld, not %ld", sum, want);

    REQUIRE(pthread_create(&threads[0], NULL, hand_over, NULL) == 0);
    for (int i = 0; i < 100; i += 2) {
        shmem_int_atomic_inc(&handed_over, me);
        shmem_int_wait_until(&handed_over, SHMEM_CMP_EQ, i + 2);
    }
    pthread_join(threads[0], NULL);
    CHECK(handed_over == 100);
    for (int t = 0; t < THREADS; t++)
        shmem_team_destroy(teams[t]);
    shmem_ctx_destroy(first);
    return finish();
}
