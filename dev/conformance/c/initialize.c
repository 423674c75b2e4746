/* Initialisation: nested and repeated, the query, thread levels, the state in between, threads that
 * write global variables meanwhile. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

static int word = 7;

/* What threads write while the library is initialised: each its own counter, and all the same one. */
enum { THREADS = 4 };
static struct {
    long own[THREADS];
    atomic_long all;
    pthread_mutex_t mutex;
    long locked;
} counters = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static atomic_int threads_ready, threads_end;
static char copied[32 << 20]; /* takes a while to become symmetric */

static void *count(void *number)
{
    long counted = 0;
    while (!atomic_load(&threads_end)) {
        counters.own[(intptr_t)number] += 1;
        atomic_fetch_add(&counters.all, 1);
        pthread_mutex_lock(&counters.mutex);
        counters.locked += 1;
        pthread_mutex_unlock(&counters.mutex);
        if (++counted == 1000)
            atomic_fetch_add(&threads_ready, 1);
    }
    return (void *)(intptr_t)counted;
}

static void initialize_beside_threads(void)
{
    pthread_t threads[THREADS];
    memset(copied, 1, sizeof copied);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, count, (void *)i) == 0);
    while (atomic_load(&threads_ready) < THREADS)
        sched_yield();
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    atomic_store(&threads_end, 1);
    long sum = 0;
    for (int i = 0; i < THREADS; i++) {
        void *counted;
        CHECK(pthread_join(threads[i], &counted) == 0);
        CHECK(counters.own[i] == (intptr_t)counted, "thread %d: %ld of %ld additions", i, counters.own[i],
              (long)(intptr_t)counted);
        sum += (intptr_t)counted;
    }
    CHECK(atomic_load(&counters.all) == sum, "%ld of %ld atomic additions", atomic_load(&counters.all), sum);
    CHECK(counters.locked == sum, "%ld of %ld additions under a lock", counters.locked, sum);
    shmem_finalize();
}

static int is_initialized(void)
{
    int initialized = -1;
    shmem_query_initialized(&initialized);
    return initialized != 0;
}

static void use(int round)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(me >= 0 && me < n);
    int *heap = checked_malloc(sizeof *heap);
    *heap = -1;
    shmem_barrier_all();
    shmem_int_p(heap, me * 10 + round, right_of(me));
    shmem_int_p(&word, me * 20 + round, right_of(me));
    shmem_barrier_all();
    CHECK(*heap == left_of(me) * 10 + round, "round %d: %d", round, *heap);
    CHECK(word == left_of(me) * 20 + round, "round %d: %d", round, word);
    shmem_barrier_all();
    if (round % 2) /* what is left allocated goes with the library */
        shmem_free(heap);
}

int main(void)
{
    int provided = -1, first_pe = -1;
    CHECK(!is_initialized());
    initialize_beside_threads();
    CHECK(!is_initialized());
    for (int round = 0; round < 6; round++) {
        if (round % 2)
            shmem_init();
        else
            CHECK(shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) == 0 &&
                      provided >= SHMEM_THREAD_SERIALIZED,
                  "%d", provided);
        CHECK(is_initialized());
        if (first_pe < 0)
            first_pe = shmem_my_pe();
        CHECK(shmem_my_pe() == first_pe, "the PE number changed from %d", first_pe);
        use(round);
        shmem_init();
        CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
        int level = -1;
        shmem_query_thread(&level);
        CHECK(level == provided, "%d and %d", level, provided);
        use(round);
        shmem_finalize();
        CHECK(is_initialized());
        use(round);
        shmem_finalize();
        CHECK(is_initialized());
        use(round);
        shmem_team_t team; /* left to the last finalize */
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team) == 0);
        int last = left_of(shmem_my_pe()) * 20 + round;
        shmem_finalize();
        CHECK(!is_initialized());
        CHECK(word == last, "a global lost its value in finalize");
        word = round;
    }
    for (int level = SHMEM_THREAD_SINGLE; level <= SHMEM_THREAD_MULTIPLE; level++) {
        CHECK(shmem_init_thread(level, &provided) == 0);
        CHECK(provided >= level && provided <= SHMEM_THREAD_MULTIPLE, "%d for %d", provided, level);
        shmem_finalize();
    }
    return check_status();
}
