/* One misuse of the library per name. All PEs start well; the PE that is at fault (usually PE 1)
 * prints the time on the clock that the tests read, then does it; the others wait in a barrier.
 * A case that comes back has not been noticed: the job then ends with status 0. */
#include "clock.h"

#include <malloc.h>
#include <shmemx.h>

static int word, words[16];
static long lock_word;
static long sync_words[SHMEM_SYNC_SIZE];
static uint64_t signal_word;
static int me, n;
/* Not a constant: compilers see through those. */
static volatile size_t far_too_long = (size_t)1 << 40;

/* Far beyond anything mapped, but in no PE's window either. */
static void *wild(void)
{
    return (void *)(uintptr_t)0x10000;
}

static void put_pe(void) { shmem_int_put(&word, &(int){1}, 1, n); }
static void put_negative_pe(void) { shmem_int_put(&word, &(int){1}, 1, -1); }
static void put_far_pe(void) { shmem_putmem(&word, &(int){1}, sizeof(int), 1 << 30); }
static void get_pe(void) { shmem_getmem(&(int){1}, &word, sizeof(int), n + 5); }
static void p_pe(void) { shmem_int_p(&word, 1, n); }
static void g_pe(void) { shmem_int_g(&word, -7); }
static void iput_pe(void) { shmem_int_iput(words, words, 1, 2, 2, n); }
static void nbi_pe(void) { shmem_int_put_nbi(&word, &(int){1}, 1, n); }
static void amo_pe(void) { shmem_int_atomic_fetch_add(&word, 1, n); }
static void inc_pe(void) { shmem_int_atomic_inc(&word, -2); }
static void signal_pe(void) { shmem_signal_set(&signal_word, 1, n); }
static void put_signal_pe(void)
{
    shmem_int_put_signal(&word, &(int){1}, 1, &signal_word, 1, SHMEM_SIGNAL_SET, n);
}
static void ctx_pe(void)
{
    shmem_team_t team;
    shmem_ctx_t ctx;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team);
    REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0);
    if (me == 1) {
        now();
        shmem_ctx_int_p(ctx, &word, 1, n);
    }
    shmem_barrier_all();
}
static void signal_op(void)
{
    shmem_int_put_signal(&word, &(int){1}, 1, &signal_word, 1, 12345, 0);
}

static void wait_cmp(void) { shmem_int_wait_until(&word, 77, 0); }
static void test_cmp(void) { shmem_int_test(&word, -3, 0); }
static void wait_any_cmp(void) { shmem_int_wait_until_any(words, 4, NULL, 99, 0); }
static void signal_cmp(void) { shmem_signal_wait_until(&signal_word, 1000, 0); }

/* A request that persists, of a sum that PE 0 does not start. */
static shmemx_req_h sum(void)
{
    static long part, all;
    shmemx_req_h request;
    shmemx_sum_reduce_init(SHMEM_TEAM_WORLD, &all, &part, 1, &request);
    return request;
}
static void start_started(void)
{
    shmemx_req_h request = sum();
    shmemx_req_start(&request);
    shmemx_req_start(&request);
}
static void free_started(void)
{
    shmemx_req_h request = sum();
    shmemx_req_start(&request);
    shmemx_req_free(&request);
}
static void start_other(void)
{
    shmemx_req_h request;
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    shmemx_req_start(&request);
}
static void start_freed(void)
{
    shmemx_req_h request = sum(), copy = request;
    shmemx_req_free(&request);
    sum();
    shmemx_req_start(&copy);
}
static void start_without_team(void)
{
    shmem_team_t team;
    shmemx_req_h request;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    shmemx_sync_init(team, &request);
    shmem_team_destroy(team);
    now();
    shmemx_req_start(&request);
}
static void split(const int *pes, int npes)
{
    shmem_team_t team;
    shmemx_team_split_list(SHMEM_TEAM_WORLD, pes, npes, NULL, 0, &team);
}
static void list_out_of_range(void) { split((int[]){0, n}, 2); }
static void list_negative(void) { split((int[]){-1}, 1); }
static void list_twice(void) { split((int[]){1, 0, 1}, 3); }
static void list_null(void) { split(NULL, 1); }
static void list_of_fewer(void) { split(NULL, -3); }
static void kind_of_none(void)
{
    shmem_team_t team;
    shmemx_team_split_kind(SHMEM_TEAM_WORLD, 4, NULL, 0, &team);
}
static void mismatch_list(void) { split(me == 1 ? (int[]){0, 1} : (int[]){1, 0}, 2); }
static void mismatch_kind(void)
{
    shmem_team_t team;
    shmemx_team_split_kind(SHMEM_TEAM_WORLD, me, NULL, 0, &team);
}
static void init_private(void)
{
    long part = 1, all = 0;
    shmemx_req_h request;
    shmemx_sum_reduce_init(SHMEM_TEAM_WORLD, &all, &part, 1, &request);
}

static const int both[] = {0, 1}, periodic[] = {1};
static shmemx_graph_t ring(void)
{
    shmemx_graph_t graph;
    REQUIRE(shmemx_cart_create(SHMEM_TEAM_WORLD, 1, &n, periodic, &graph) == 0);
    return graph;
}
static void graph_one_end(void)
{
    shmemx_graph_t graph;
    shmemx_graph_create(SHMEM_TEAM_WORLD, 0, NULL, me == 1 ? 2 : 0, both, &graph);
}
static void graph_pe(void)
{
    shmemx_graph_t graph;
    shmemx_graph_create(SHMEM_TEAM_WORLD, 1, &n, 0, NULL, &graph);
}
static void cart_size(void)
{
    int dims[] = {n, 2};
    shmemx_graph_t graph;
    shmemx_cart_create(SHMEM_TEAM_WORLD, 2, dims, dims, &graph);
}
static void neighbor_bytes(void)
{
    shmemx_req_h request;
    shmemx_graph_t graph = ring();
    now();
    shmemx_neighbor_alltoallmem_init(graph, words, words, me == 1 ? 8 : 4, &request);
}
static void neighbor_private(void)
{
    int private[2];
    shmemx_req_h request;
    shmemx_graph_t graph = ring();
    if (me == 1) {
        now();
        shmemx_neighbor_alltoallmem_init(graph, private, words, sizeof(int), &request);
    }
}
static void graph_in_use(void)
{
    shmemx_req_h request;
    shmemx_graph_t graph = ring();
    shmemx_neighbor_alltoallmem_init(graph, words, words + 8, sizeof(int), &request);
    if (me == 1) {
        now();
        shmemx_graph_destroy(graph);
    }
}
static void graph_destroyed(void)
{
    shmemx_req_h request;
    shmemx_graph_t graph = ring();
    shmemx_graph_destroy(graph);
    if (me == 1) {
        now();
        shmemx_neighbor_alltoallmem_init(graph, words, words, sizeof(int), &request);
    }
}

static void put_private(void)
{
    int *p = malloc(sizeof *p);
    shmem_int_put(p, &(int){1}, 1, 0);
}
/* To a PE that is not the next one. Less than 2 MiB after the globals, where the kernel may place what malloc
 * returns first, the library does not look. */
static void put_private_far(void)
{
    const size_t behind = (size_t)4 << 20;
    mallopt(M_MMAP_THRESHOLD, (int)(2 * behind));
    char *p = malloc(behind + sizeof(int));
    shmem_int_put((int *)(p + behind), &(int){1}, 1, n - 2);
}
static void p_stack(void)
{
    int on_stack;
    shmem_int_p(&on_stack, 1, 0);
}
static void p_stack_of_all(void)
{
    int on_stack;
    shmem_int_p(&on_stack, 1, (me + n / 2) % n);
}
static void put_wild(void) { shmem_int_put(wild(), words, 1, 0); }
static void put_beyond_globals(void) { shmem_putmem(words, words, far_too_long, 0); }
static void put_beyond_heap(void)
{
    char *p = checked_malloc(100);
    if (me == 1) {
        now();
        shmem_putmem(p + ((size_t)1 << 45), words, 8, 0);
    }
}
/* For a heap of 64 MiB: in PE 0's window, behind its heap. */
static void put_past_heap(void)
{
    char *p = checked_malloc(100);
    if (me == 1) {
        now();
        shmem_putmem(p + ((size_t)64 << 20), words, 8, 0);
    }
}
static void put_past_heap_far(void)
{
    char *p = checked_malloc(100);
    if (me == 1) {
        now();
        shmem_putmem(p + ((size_t)64 << 20), words, 8, n - 2);
    }
}

static void double_free(void)
{
    void *p = checked_malloc(100), *other = checked_malloc(100);
    shmem_free(p);
    now();
    shmem_free(p);
    shmem_free(other);
}
static void free_foreign(void) { shmem_free(&word); }
static void free_middle(void)
{
    char *p = checked_malloc(100);
    now();
    shmem_free(p + 16);
}
static void realloc_freed(void)
{
    char *p = checked_malloc(100);
    shmem_free(p);
    now();
    shmem_realloc(p, 200);
}
static void clear_free_lock(void) { shmem_clear_lock(&lock_word); }

static void exhausted(void)
{
    CHECK(shmem_malloc((size_t)1 << 50) == NULL);
    shmem_barrier_all();
}

static void after_finalize(void)
{
    shmem_finalize();
    now();
    shmem_malloc(8);
}
static void put_after_finalize(void)
{
    shmem_finalize();
    now();
    shmem_int_put(&word, &(int){1}, 1, 0);
}
/* For a heap of 64 MiB: PE 0 finds what the last PE has written behind it. */
static void finalize_after_stray(void)
{
    char *p = checked_malloc(100);
    if (me == n - 1)
        shmem_putmem(p + ((size_t)64 << 20), words, 8, 0);
    shmem_barrier_all();
    shmem_finalize();
    printf("PE %d has left\n", me);
}
static void finalize_twice(void)
{
    shmem_finalize();
    now();
    shmem_finalize();
    shmem_finalize();
}
static void align_3(void)
{
    CHECK(shmem_align(3, 100) == NULL);
    CHECK(shmem_align(0, 100) == NULL);
    CHECK(shmem_align(SIZE_MAX, 100) == NULL);
    CHECK(shmemalign(48, 100) == NULL);
    shmem_barrier_all();
}

/* Collectives that do not fit together. */
static void mismatch_routine(void)
{
    if (me == 1)
        shmem_int_broadcast(SHMEM_TEAM_WORLD, words, words + 4, 1, 0);
    else
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words + 4, 1);
}
static void mismatch_count(void) { shmem_int_broadcast(SHMEM_TEAM_WORLD, words, words + 8, me == 1 ? 3 : 2, 0); }
static void mismatch_root(void) { shmem_int_broadcast(SHMEM_TEAM_WORLD, words, words + 8, 2, me == 1 ? 1 : 0); }
static void mismatch_malloc(void) { shmem_malloc(me == 1 ? 200 : 100); }
static void mismatch_free(void)
{
    void *p = checked_malloc(100), *q = checked_malloc(100);
    now();
    shmem_free(me == 1 ? p : q);
}
static void mismatch_nreduce(void) { shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words + 8, me == 1 ? 3 : 2); }
static void mismatch_operator(void)
{
    if (me == 1)
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, words, words + 8, 2);
    else
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words + 8, 2);
}
static void mismatch_type(void)
{
    static unsigned unsigned_words[4];
    if (me == 1)
        shmem_uint_sum_reduce(SHMEM_TEAM_WORLD, unsigned_words, unsigned_words + 2, 2);
    else
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words + 8, 2);
}
static void mismatch_barrier(void)
{
    if (me == 1)
        shmem_barrier_all();
    else
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words + 8, 2);
}
static void mismatch_dest(void)
{
    int *in_heap = checked_malloc(64);
    now();
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, in_heap + me, words + 8, 2);
}
static void mismatch_source(void) { shmem_int_alltoall(SHMEM_TEAM_WORLD, words, words + 8 + me, 2); }
static void mismatch_dest_on_set(void)
{
    static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 4];
    shmem_int_sum_to_all(words + me, words + 8, 1, 0, 0, n, work, sync_words);
}
static void mismatch_on_set(void)
{
    static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 4];
    shmem_int_sum_to_all(words, words + 8, me == 1 ? 3 : 2, 0, 0, n, work, sync_words);
}
static void mismatch_root_on_set(void) { shmem_broadcast32(words, words + 8, 2, me, 0, 0, n, sync_words); }

/* Arrays that are neither the same nor apart. */
static void overlap_reduce(void) { shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words + 3, 4); }
static void overlap_broadcast(void) { shmem_int_broadcast(SHMEM_TEAM_WORLD, words + 1, words, 2, 0); }
static void overlap_collect(void) { shmem_int_collect(SHMEM_TEAM_WORLD, words, words + 3, 2); }
static void overlap_fcollect(void) { shmem_int_fcollect(SHMEM_TEAM_WORLD, words, words, 2); }
static void overlap_alltoall(void) { shmem_int_alltoall(SHMEM_TEAM_WORLD, words, words, 2); }
static void overlap_alltoalls(void) { shmem_int_alltoalls(SHMEM_TEAM_WORLD, words, words + 5, 2, 1, 2); }
static void overlap_scan(void) { shmem_int_sum_exscan(SHMEM_TEAM_WORLD, words + 1, words, 2); }
static void overlap_on_set(void)
{
    static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 4];
    shmem_int_sum_to_all(words, words + 1, 4, 0, 0, n, work, sync_words);
}
/* So many elements that their bytes are few, modulo 2^64. */
static void reduce_wraps(void) { shmem_int_sum_reduce(SHMEM_TEAM_WORLD, words, words + 8, SIZE_MAX / 4 + 2); }
static void fcollect_wraps(void) { shmem_int_fcollect(SHMEM_TEAM_WORLD, words, words + 8, SIZE_MAX / 8 + 1); }
static void alltoalls_wraps(void) { shmem_int_alltoalls(SHMEM_TEAM_WORLD, words, words + 8, PTRDIFF_MAX, 1, 2); }
/* As programs have it that were written for another value of SHMEM_SYNC_VALUE. */
static void psync_unset(void)
{
    static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    static long unset[SHMEM_REDUCE_SYNC_SIZE];
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        unset[i] = -1;
    shmem_barrier_all();
    now();
    shmem_int_sum_to_all(words, words + 8, 2, 0, 0, n, work, unset);
}
static void root_out_of_range(void) { shmem_int_broadcast(SHMEM_TEAM_WORLD, words, words + 8, 2, n); }
static void active_set_out_of_range(void) { shmem_barrier(0, 0, n + 1, sync_words); }

/* Who is at fault: PE 1, while the others wait in a barrier; all; or all, once they are ready, which the case says. */
enum fault { BY_ONE, BY_ALL, WHEN_READY };

static const struct {
    const char *name;
    void (*run)(void);
    enum fault fault;
} cases[] = {
#define ALONE(name) {#name, name, BY_ONE}
#define TOGETHER(name) {#name, name, BY_ALL}
#define READY(name) {#name, name, WHEN_READY}
    ALONE(put_pe), ALONE(put_negative_pe), ALONE(put_far_pe), ALONE(get_pe), ALONE(p_pe), ALONE(g_pe), ALONE(iput_pe),
    ALONE(nbi_pe), ALONE(amo_pe), ALONE(inc_pe), ALONE(signal_pe), ALONE(put_signal_pe), ALONE(signal_op),
    ALONE(wait_cmp), ALONE(test_cmp), ALONE(wait_any_cmp), ALONE(signal_cmp), ALONE(start_started), ALONE(free_started),
    ALONE(start_other), ALONE(start_freed), ALONE(init_private), ALONE(list_out_of_range), ALONE(list_negative),
    ALONE(list_twice), ALONE(list_null), ALONE(list_of_fewer), ALONE(kind_of_none), ALONE(graph_pe), ALONE(cart_size),
    ALONE(put_private), ALONE(put_private_far), ALONE(p_stack), ALONE(put_wild), ALONE(put_beyond_globals),
    ALONE(clear_free_lock),
    TOGETHER(mismatch_list), TOGETHER(mismatch_kind), TOGETHER(graph_one_end), TOGETHER(free_foreign),
    TOGETHER(exhausted), TOGETHER(align_3), TOGETHER(mismatch_routine), TOGETHER(mismatch_count),
    TOGETHER(mismatch_root), TOGETHER(mismatch_malloc), TOGETHER(mismatch_nreduce), TOGETHER(mismatch_operator),
    TOGETHER(mismatch_type), TOGETHER(mismatch_barrier), TOGETHER(mismatch_source), TOGETHER(mismatch_dest_on_set),
    TOGETHER(mismatch_on_set), TOGETHER(mismatch_root_on_set), TOGETHER(overlap_reduce), TOGETHER(overlap_broadcast),
    TOGETHER(overlap_collect), TOGETHER(overlap_fcollect), TOGETHER(overlap_alltoall), TOGETHER(overlap_alltoalls),
    TOGETHER(overlap_scan), TOGETHER(overlap_on_set), TOGETHER(reduce_wraps), TOGETHER(fcollect_wraps),
    TOGETHER(alltoalls_wraps), TOGETHER(root_out_of_range), TOGETHER(active_set_out_of_range),
    READY(ctx_pe), READY(start_without_team), READY(neighbor_bytes), READY(neighbor_private), READY(graph_in_use),
    READY(graph_destroyed), READY(p_stack_of_all), READY(put_beyond_heap), READY(put_past_heap),
    READY(put_past_heap_far), READY(double_free), READY(free_middle), READY(realloc_freed), READY(after_finalize),
    READY(put_after_finalize), READY(finalize_after_stray), READY(finalize_twice), READY(mismatch_free),
    READY(mismatch_dest), READY(psync_unset),
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strstr(name, "before_init") != NULL) {
        now();
        if (strcmp(name, "before_init") == 0)
            shmem_barrier_all();
        else if (strcmp(name, "malloc_before_init") == 0)
            shmem_malloc(8);
        else if (strcmp(name, "put_before_init") == 0)
            shmem_int_put(&word, &(int){1}, 1, 0);
        return 0;
    }
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(name, cases[i].name) != 0)
            continue;
        int is_at_fault = cases[i].fault != BY_ONE || me == 1;
        if (is_at_fault && cases[i].fault != WHEN_READY)
            now();
        if (is_at_fault)
            cases[i].run();
        int initialized;
        shmem_query_initialized(&initialized);
        if (initialized) {
            shmem_barrier_all();
            shmem_finalize();
        }
        return check_status();
    }
    fprintf(stderr, "no case is called \"%s\"\n", name);
    shmem_global_exit(2);
}
