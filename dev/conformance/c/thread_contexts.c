/* Threads with contexts of their own put, get, add, and put with a signal at the same time, and
 * quiet each: 1, 4 and 16 of them, which is more than there are endpoints. Contexts that come and
 * go leave no descriptor behind. */
#include "check.h"

#include <dirent.h>
#include <pthread.h>

enum { MOST = 16, ROUNDS = REPEAT(40, 6), WORDS = 900, MANY = REPEAT(10000, 500) };

static long data[MOST][WORDS]; /* written by the thread of this number of the PE to the left */
static long signalled[MOST][WORDS];
static uint64_t signals[MOST];
static long counts[MOST];
static unsigned long shared_count;

static void one_round(shmem_ctx_t ctx, int id, int round)
{
    static const size_t lengths[] = { 1, 25, 200, WORDS };
    int to = shmem_my_pe() + 1 < shmem_n_pes() ? shmem_my_pe() + 1 : 0;
    size_t n = lengths[round % 4];
    long source[WORDS], back[WORDS] = { 0 };
    for (size_t i = 0; i < n; i++)
        source[i] = round * 100000L + id * 1000 + (long)i;
    if (round % 2)
        shmem_ctx_long_put(ctx, data[id], source, n, to);
    else
        shmem_ctx_long_put_nbi(ctx, data[id], source, n, to);
    shmem_ctx_quiet(ctx);
    if (round % 3)
        shmem_ctx_long_get(ctx, back, data[id], n, to);
    else
        shmem_ctx_long_get_nbi(ctx, back, data[id], n, to);
    shmem_ctx_quiet(ctx);
    CHECK(memcmp(back, source, n * sizeof *back) == 0, "thread %d, round %d", id, round);

    long before = shmem_ctx_long_atomic_fetch_add(ctx, &counts[id], 2, to);
    CHECK(before == 3L * (round - 1), "thread %d, round %d: %ld", id, round, before);
    shmem_ctx_long_atomic_inc(ctx, &counts[id], to);
    shmem_ctx_ulong_atomic_add(ctx, &shared_count, 1, round % shmem_n_pes());

    for (size_t i = 0; i < n; i++)
        source[i] = -source[i];
    shmem_ctx_long_put_signal(ctx, signalled[id], source, n, &signals[id], 1, SHMEM_SIGNAL_ADD, to);
    shmem_signal_wait_until(&signals[id], SHMEM_CMP_GE, (uint64_t)round);
    /* The other PE's thread waits for this one's signal before it puts the next. */
    for (size_t i = 0; i < n; i++) {
        long want = -(round * 100000L + id * 1000 + (long)i);
        CHECK(signalled[id][i] == want, "thread %d, round %d: %ld, not %ld", id, round,
              signalled[id][i], want);
    }
    shmem_ctx_quiet(ctx);
}

static pthread_barrier_t after_round;

static void *work(void *argument)
{
    int id = (int)(intptr_t)argument;
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(id % 2 ? SHMEM_CTX_PRIVATE : SHMEM_CTX_SERIALIZED, &ctx) == 0);
    for (int round = 1; round <= ROUNDS; round++) {
        one_round(ctx, id, round);
        /* What a round has signalled is read by all PEs before it is written again. */
        pthread_barrier_wait(&after_round);
        if (id == 0)
            shmem_barrier_all();
        pthread_barrier_wait(&after_round);
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

static void all_threads(int n)
{
    pthread_t threads[MOST];
    memset(signals, 0, sizeof signals);
    memset(counts, 0, sizeof counts);
    shared_count = 0;
    REQUIRE(pthread_barrier_init(&after_round, NULL, (unsigned)n) == 0);
    shmem_barrier_all();
    for (intptr_t t = 0; t < n; t++)
        REQUIRE(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
    for (int t = 0; t < n; t++)
        pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&after_round);
    shmem_barrier_all();
    unsigned long want = 0;
    for (int round = 1; round <= ROUNDS; round++)
        if (round % shmem_n_pes() == shmem_my_pe())
            want += (unsigned long)n * (unsigned long)shmem_n_pes();
    CHECK(shared_count == want, "%lu, not %lu", shared_count, want);
    for (int t = 0; t < n; t++)
        CHECK(counts[t] == 3L * ROUNDS, "thread %d: %ld", t, counts[t]);
    shmem_barrier_all();
}

static int descriptors(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    REQUIRE(folder != NULL);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

static void come_and_go(void)
{
    int to = (shmem_my_pe() + 1) % shmem_n_pes(), before = 0;
    for (int i = 0; i < MANY; i++) {
        shmem_ctx_t ctx;
        REQUIRE(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
        shmem_ctx_long_p(ctx, &data[0][i % WORDS], i, to);
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
        if (i == 100) {
            shmem_barrier_all();
            before = descriptors();
        }
    }
    shmem_barrier_all();
    int after = descriptors();
    CHECK(after <= before, "%d descriptors, then %d", before, after);
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == SHMEM_THREAD_MULTIPLE, "%d", provided);
    all_threads(1);
    all_threads(4);
    all_threads(MOST);
    come_and_go();
    return finish();
}
