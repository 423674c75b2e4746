/* A differential fuzzer: random sequences of every routine, compared with a sequential model.
 *
 *   fuzz SEED STEPS [threads N] [area BYTES] [drop LIST] [trace STEP] [loses] [replaces] [verbose] [coverage]
 *
 * All PEs draw the same sequence from the seed. A step is a phase between two barriers: operations
 * of all PEs' threads, or what PEs make together, or contention. LIST names what is left out:
 * steps (7, 7-9) and operations of a step (7.3, 7.3-8). What remains is drawn as before as far as
 * it does not depend on what is left out. The first difference ends the job with a line. */
#include <stdarg.h>

#include "matching.h"
#include "messages.h"
#include "contention.h"

/* The program's static memory, beside the symmetric heap. */
static unsigned char globals[24 * 1024] __attribute__((__aligned__(64))) = {1};

static const char *left_out = "";
static int verbose, replaces;

/* Whether the list leaves out an operation, or with `op` -1 a step. */
static int is_left_out(int op)
{
    for (const char *at = left_out; *at != '\0';) {
        char *end;
        long first = strtol(at, &end, 10), part = -1, last;
        if (*end == '.')
            part = strtol(end + 1, &end, 10);
        last = part < 0 ? first : part;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (part < 0 ? op < 0 && first <= step && step <= last
                     : op >= 0 && first == step && part <= op && op <= last)
            return 1;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end != '\0')
            return 0;
    }
    return 0;
}

static void draw_pause(struct rng *rng, int pe, int thread, int number)
{
    int die = below(rng, 400);
    int microseconds = die == 0 ? between(rng, 10000, 100000) : die < 60 ? between(rng, 100, 2000)
                                                                         : between(rng, 1, 60);
    struct op *op = append(pe, thread, PAUSE, NULL, number);
    if (op != NULL)
        op->microseconds = microseconds;
}

/* One operation of one thread, or one that several share. */
static void draw_operation(struct rng *rng, int number)
{
    int pe = draw_left(rng), thread = below(rng, threads), die = below(rng, 100);
    if (begun_count[pe][thread] > 0 && once_in(rng, 3))
        draw_end(rng, pe, thread, number);
    if (posted_count[pe][thread] > 0 && once_in(rng, 3))
        draw_end_of_postings(rng, pe, thread, number);
    if (die < 34) {
        int target = below(rng, n), context = draw_context(rng, pe, thread, target);
        const struct routine *r = draw_routine(rng, draw_kind(rng, TRANSFERS), context, 0);
        draw_transfer(rng, pe, thread, target, context, r, number);
    } else if (die < 54) {
        draw_atomic(rng, pe, thread, number);
    } else if (die < 56) {
        draw_signal(rng, pe, thread, number);
    } else if (die < 60) {
        draw_sends(rng, number);
    } else if (die < 68) {
        draw_message(rng, pe, thread, number);
    } else if (die < 82) {
        draw_collective(rng, number);
    } else if (die < 90) {
        draw_order(rng, pe, thread, number);
    } else if (die < 96) {
        draw_access(rng, pe, thread, number);
    } else {
        draw_pause(rng, pe, thread, number);
    }
}

/* One act of all PEs, or of all members of a team. */
static void draw_object(struct rng *rng, int number)
{
    switch (below(rng, 22)) {
    case 0:
    case 1:
    case 2:
        allocate(rng, number);
        break;
    case 3:
    case 4:
        reallocate(rng, number);
        break;
    case 5:
        release(rng, number);
        break;
    case 6:
    case 7:
        split_strided(rng, number);
        break;
    case 8:
        split_2d(rng, number);
        break;
    case 9:
        destroy_team(rng);
        break;
    case 10:
    case 11:
        create_context(rng, number);
        break;
    case 12:
        split_list(rng, number);
        break;
    case 13:
        split_color(rng, number);
        break;
    case 14:
        end_context(rng);
        begin_or_end_session(rng);
        break;
    case 15:
        use_graph(rng, number);
        break;
    case 16:
        use_space(rng, number);
        break;
    case 17:
        begin_or_end_space(rng, number);
        break;
    case 18:
        use_streams(rng, number);
        break;
    case 19:
        repeat_requests(rng, number);
        break;
    case 20:
        shrink_whole(rng, number);
        break;
    default:
        query(rng, number);
    }
}

/* The end of a phase: one of the ways by which all PEs can have completed all operations. */
static void end_phase(struct rng *rng)
{
    int how = below(rng, 3);
    for (int pe = 0; pe < n; pe++)
        for (int t = 0; t < threads; t++) {
            while (begun_count[pe][t] > 0)
                draw_end(rng, pe, t, 0);
            while (posted_count[pe][t] > 0)
                draw_end_of_postings(rng, pe, t, 0);
            complete_all(rng, pe, t, 0);
        }
    end_if_doomed();
    perform_all();
    if (loss.count > 0)
        recover(rng, 0);
    if (how == 0 || lost != 0)
        meet();
    else if (how == 1)
        F(shmem_sync_all)();
    else
        F(shmem_team_sync)(SHMEM_TEAM_WORLD);
    compare_memory();
    check_work_arrays();
    /* No PE begins the next phase while another compares. */
    meet();
    forget_claims();
    free_chunks();
}

/* The teams of the nodes: which PEs have the same one is known from the lowest of each. */
static void add_teams(void)
{
    static int mine;
    int *const first_of_node = first_of[0];
    struct team all = {.alive = 1, .size = n};
    for (int pe = 0; pe < n; pe++)
        all.pes[pe] = all.rank[pe] = pe;
    add_strided(&all, 0, 1, n, SHMEM_TEAM_WORLD, "world", 0)->alive = 2;
    for (int kind = 0; kind < 4; kind++) {
        shmem_team_t shares = SHMEM_TEAM_SHARED;
        if (kind > 0)
            F(shmemx_team_split_kind)(SHMEM_TEAM_WORLD, kinds_of_teams[kind], NULL, 0, &shares);
        mine = F(shmem_team_translate_pe)(shares, 0, SHMEM_TEAM_WORLD);
        F(shmem_int_fcollect)(SHMEM_TEAM_WORLD, first_of[kind], &mine, 1);
        if (kind > 0)
            F(shmem_team_destroy)(shares);
        F(shmem_barrier_all)();
    }
    for (int pe = 0; pe < n; pe++) {
        if (first_of_node[pe] != pe || free_teams() < MOST_TEAMS / 2)
            continue;
        struct team node = {.alive = 1};
        memset(node.rank, -1, sizeof node.rank);
        for (int i = pe; i < n; i++)
            if (first_of_node[i] == pe) {
                node.rank[i] = node.size;
                node.pes[node.size++] = i;
            }
        add_strided(&node, 0, 1, node.size, node.rank[me] >= 0 ? SHMEM_TEAM_SHARED : SHMEM_TEAM_INVALID,
                    "SHMEM_TEAM_SHARED", 0)
            ->alive = 2;
    }
    contexts[0] = (struct context){1, 0, -1, SHMEM_CTX_DEFAULT};
    F(shmem_barrier_all)();
}

static void take_step(void)
{
    struct rng rng = rng_of(seed, (uint64_t)step, 0);
    int die = below(&rng, 100), operations = between(&rng, 1, 8 * n * threads + 10);
    if (operations > 400)
        operations = 400;
    int number = 1;
    if (loses && once_in(&rng, (is_on_hosts() ? 20 : 200) / n + 1) && !is_left_out(number))
        doom(&rng, number);
    if (loss.count > 0 && (die >= 80 || once_in(&rng, 3))) {
        end_if_doomed();
        recover(&rng, number);
        dying = 0;
    }
    if (die < 80) {
        for (; number <= operations; number++) {
            struct rng own = rng_of(seed, (uint64_t)step, (uint64_t)number);
            if (!is_left_out(number))
                draw_operation(&own, number);
        }
    } else if (die < 92) {
        for (; number <= 6; number++) {
            struct rng own = rng_of(seed, (uint64_t)step, (uint64_t)number);
            if (!is_left_out(number))
                draw_object(&own, number);
        }
        meet();
    } else if (die < 97) {
        contend_for_lock(&rng, number);
    } else {
        contend_for_counter(&rng, number);
    }
    end_phase(&rng);
    if (replaces && lost != 0 && once_in(&rng, 3)) {
        replace_lost();
        add_teams();
    }
}

/* The ways to initialise, of which one is drawn. */
static void initialise(struct rng *rng)
{
    int provided = SHMEM_THREAD_SINGLE, how = threads > 1 ? 0 : below(rng, 3);
    if (how == 0) {
        int level = threads > 1 ? SHMEM_THREAD_MULTIPLE : between(rng, SHMEM_THREAD_SINGLE, SHMEM_THREAD_MULTIPLE);
        if (F(shmem_init_thread)(level, &provided) != 0 || provided < level) {
            fprintf(stderr, "fuzz: no thread level %d\n", level);
            exit(2);
        }
    } else if (how == 1) {
        F(shmem_init)();
    } else {
        F(start_pes)(0);
    }
}

/* How many of the routines have been called by any PE, and with `coverage` which have not. */
static void summarise(int coverage, int steps)
{
    enum { COUNT = sizeof called };
    static unsigned char mine[COUNT], any[COUNT];
    static long all_calls[2], own_calls[2];
    memcpy(mine, called, COUNT);
    own_calls[0] = calls;
    own_calls[1] = (long)(compared >> 20);
    meet();
    check_signals();
    expect_that(*F(shmemx_failures)() == past + (uint64_t)__builtin_popcountll(lost), "shmemx_failures", 0);
    F(shmem_uchar_or_reduce)(teams[everyone].handle, any, mine, COUNT);
    F(shmem_long_sum_reduce)(teams[everyone].handle, all_calls, own_calls, 2);
    int different = 0;
    for (int i = 0; i < COUNT; i++)
        different += any[i];
    if (teams[everyone].rank[me] == 0) {
        printf("fuzz: seed %llu: %d steps of %d PEs, %d of them lost, %ld calls, %ld MiB compared: no difference\n",
               (unsigned long long)seed, steps, n, __builtin_popcountll(lost), all_calls[0], all_calls[1]);
        for (int i = 0; coverage && i < COUNT; i++)
            if (any[i])
                printf("called %s\n", routines[i].name);
        if (coverage)
            printf("called %d of %d routines\n", different, COUNT);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: fuzz SEED STEPS [threads N] [area BYTES] [drop LIST] [trace STEP] [loses] [replaces] "
                        "[verbose] [coverage]\n");
        return 2;
    }
    int steps = atoi(argv[2]), coverage = 0, traced = -1;
    size_t area_bytes = 32768;
    seed = strtoull(argv[1], NULL, 10);
    threads = 1;
    for (int i = 3; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "threads") == 0)
            threads = atoi(value);
        else if (strcmp(argv[i], "area") == 0)
            area_bytes = (size_t)atol(value);
        else if (strcmp(argv[i], "drop") == 0)
            left_out = value;
        else if (strcmp(argv[i], "trace") == 0)
            traced = atoi(value);
        loses |= strcmp(argv[i], "loses") == 0;
        replaces |= strcmp(argv[i], "replaces") == 0;
        verbose |= strcmp(argv[i], "verbose") == 0;
        coverage |= strcmp(argv[i], "coverage") == 0;
    }
    struct rng rng = rng_of(seed, UINT64_MAX, 0);
    initialise(&rng);
    me = F(shmem_my_pe)();
    n = F(shmem_n_pes)();
    if (n > MOST_PES || threads < 1 || threads > MOST_THREADS || area_bytes < 4096 || area_bytes > 1u << 28) {
        fprintf(stderr, "fuzz: up to %d PEs, %d threads, areas of 4 KiB to 256 MiB\n", MOST_PES, MOST_THREADS);
        F(shmem_global_exit)(2);
    }
    if (loses)
        expect_that(F(shmemx_resilient)() == 0, "shmemx_resilient", 0);
    largest_area = area_bytes;
    add_area("static memory", globals, sizeof globals);
    int is_new = F(shmemx_restarted)() > 0;
    if (is_new)
        ask_others();
    unsigned char *heap = is_new ? resumed.heap : F(shmem_malloc)(area_bytes);
    if (heap == NULL) {
        fprintf(stderr, "fuzz: the symmetric heap is too small for %zu bytes\n", area_bytes);
        F(shmem_global_exit)(2);
    }
    add_area("the symmetric heap", heap, area_bytes);
    fixed_areas = area_count;
    if (is_new) {
        F(shmem_barrier_all)();
        begin_anew();
    } else {
        for (int i = 0; i < area_count; i++)
            refill(&areas[i], 0, areas[i].bytes, &rng);
    }
    add_teams();
    for (step = resumed.step; step < steps; step++) {
        if (is_left_out(-1))
            continue;
        if (verbose && me == 0)
            fprintf(stderr, "step %d\n", step);
        tracing = step == traced;
        take_step();
    }
    summarise(coverage, steps);
    F(shmem_finalize)();
    return 0;
}
