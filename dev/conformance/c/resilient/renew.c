/* PEs are replaced, one after the other: argv[1] names them, a digit each. What all make anew over SHMEM_TEAM_WORLD
 * works on all, also on the new one; what those that are left had made before returns errors, and is freed. */
#include "../check.h"

#include <shmemx.h>
#include <signal.h>

enum { ITEMS = 2000 };

static long active_sync[SHMEM_SYNC_SIZE], half_sync[SHMEM_SYNC_SIZE], reduce_sync[SHMEM_REDUCE_SYNC_SIZE];
static long reduce_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long source[64], dest[64], sum;
static int me, n;

/* What PEs make over a team. */
struct objects {
    shmemx_stream_t stream;
    shmemx_graph_t graph, grid;
    shmemx_req_h neighbors, around, reduction;
    shmem_team_t team;
};

static void push(shmemx_stream_t stream, long item, int pe)
{
    while (!shmemx_stream_push(stream, &item, pe))
        ;
}

static void make(struct objects *all)
{
    int both = 1, right = (me + 1) % n, left = (me + n - 1) % n;
    REQUIRE(shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(long), 0, &all->stream) == 0);
    REQUIRE(shmemx_graph_create(SHMEM_TEAM_WORLD, 1, &left, 1, &right, &all->graph) == 0);
    REQUIRE(shmemx_cart_create(SHMEM_TEAM_WORLD, 1, &n, &both, &all->grid) == 0);
    REQUIRE(shmemx_neighbor_alltoallmem_init(all->graph, dest, source, sizeof(long), &all->neighbors) == 0);
    REQUIRE(shmemx_neighbor_alltoallmem_init(all->grid, dest + 8, source, sizeof(long), &all->around) == 0);
    REQUIRE(shmemx_sum_reduce_init(SHMEM_TEAM_WORLD, &sum, source, 1, &all->reduction) == 0);
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all->team) == 0);
}

static void drop(struct objects *all)
{
    shmemx_stream_destroy(all->stream);
    shmemx_req_free(&all->neighbors);
    shmemx_req_free(&all->around);
    shmemx_req_free(&all->reduction);
    shmemx_graph_destroy(all->graph);
    shmemx_graph_destroy(all->grid);
    shmem_team_destroy(all->team);
}

/* Items of all for all arrive. */
static void stream_works(shmemx_stream_t stream)
{
    for (int use = 0; use < 2; use++) {
        long item, got = 0, total = 0;
        int from;
        for (long i = 0; i < ITEMS; i++)
            for (int pe = 0; pe < n; pe++) {
                const long mine = i * n + me;
                while (!shmemx_stream_push(stream, &mine, pe))
                    for (; shmemx_stream_pull(stream, &item, &from); got++, total += item)
                        CHECK(item % n == from);
            }
        shmemx_stream_end(stream);
        while (shmemx_stream_wait(stream))
            for (; shmemx_stream_pull(stream, &item, &from); got++, total += item)
                CHECK(item % n == from);
        const long all = (long)n * ITEMS;
        CHECK(got == all && total == all * (all - 1) / 2, "%ld items, sum %ld", got, total);
        shmemx_stream_reset(stream);
    }
}

static void work(struct objects *all)
{
    for (long round = 0; round < 3; round++) {
        const long left = (me + n - 1) % n, right = (me + 1) % n;
        source[0] = 100 * round + me;
        source[1] = 100 * round + me + 50;
        shmemx_req_start(&all->neighbors);
        CHECK(shmemx_req_wait(&all->neighbors) == 0 && dest[0] == 100 * round + left, "%ld", dest[0]);
        shmemx_req_start(&all->around);
        CHECK(shmemx_req_wait(&all->around) == 0);
        CHECK(dest[8] == 100 * round + left + 50 && dest[9] == 100 * round + right, "%ld %ld", dest[8], dest[9]);
        shmemx_req_start(&all->reduction);
        CHECK(shmemx_req_wait(&all->reduction) == 0 && sum == 100 * round * n + n * (n - 1) / 2, "%ld", sum);
        CHECK(shmem_team_sync(all->team) == 0);
    }
    stream_works(all->stream);
}

/* Deprecated sets of all PEs, and of every other one. */
static void active_sets_work(void)
{
    for (int i = 0; i < 2; i++) {
        shmem_barrier(0, 0, n, active_sync);
        if (me % 2 == 0)
            shmem_barrier(0, 1, (n + 1) / 2, half_sync);
        source[0] = me;
        shmem_long_sum_to_all(dest, source, 1, 0, 0, n, reduce_work, reduce_sync);
        CHECK(dest[0] == n * (n - 1) / 2, "%ld", dest[0]);
        shmem_barrier(0, 0, n, active_sync);
    }
}

/* Arrays that calls with the PE before may have left at any point, or that a new process has. */
static void initialise(long *array, int length)
{
    for (int i = 0; i < length; i++)
        array[i] = SHMEM_SYNC_VALUE;
}

static void initialise_all(void)
{
    initialise(active_sync, SHMEM_SYNC_SIZE);
    initialise(half_sync, SHMEM_SYNC_SIZE);
    initialise(reduce_sync, SHMEM_REDUCE_SYNC_SIZE);
    shmem_barrier_all();
}

/* What a PE had made before another one was replaced. */
static void old_fail(struct objects *old)
{
    long item = -1;
    for (int i = 0; i < ITEMS; i++)
        for (int pe = 0; pe < n; pe++)
            shmemx_stream_push(old->stream, &item, pe);
    shmemx_stream_flush(old->stream);
    while (shmemx_stream_pull(old->stream, &item, NULL))
        ;
    shmemx_req_start(&old->neighbors);
    CHECK(shmemx_req_wait(&old->neighbors) == -1);
    shmemx_req_start(&old->around);
    CHECK(shmemx_req_wait(&old->around) == -1);
    shmemx_req_start(&old->reduction);
    CHECK(shmemx_req_wait(&old->reduction) == -1);
    CHECK(shmem_team_sync(old->team) == -1);
}

static void ends_by_failure(int victim)
{
    if (me == victim)
        raise(SIGKILL);
    while (shmem_team_sync(SHMEM_TEAM_WORLD) == 0)
        ;
    REQUIRE(shmemx_replace() == 0);
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    REQUIRE(argc > 2);
    const char *victims = argv[1];
    const int is_old_first = strcmp(argv[2], "old-first") == 0;
    static int done; /* replacements so far */
    REQUIRE(shmemx_resilient() == 0);
    struct objects old = {0}, new;
    if (shmemx_restarted() > 0) {
        done = shmem_int_g(&done, (me + 1) % n);
    } else {
        initialise_all();
        active_sets_work();
        make(&old);
        for (int pe = 0; pe < n; pe++)
            push(old.stream, -2, pe);
        shmem_barrier_all();
        done = 1;
        ends_by_failure(victims[0] - '0');
    }
    for (;;) {
        initialise_all();
        if (old.stream && is_old_first)
            old_fail(&old);
        make(&new);
        if (old.stream && !is_old_first)
            old_fail(&old);
        work(&new);
        active_sets_work();
        if (old.stream)
            drop(&old);
        work(&new);
        old = new;
        if (victims[done] == '\0')
            break;
        for (int pe = 0; pe < n; pe++)
            push(old.stream, -2, pe);
        shmem_barrier_all();
        done++;
        ends_by_failure(victims[done - 1] - '0');
    }
    drop(&old);
    printf("PE %d has ended\n", me);
    return finish();
}
