/* What the drawing of all operations shares: routines, contexts, sizes, places. */
#ifndef FUZZ_DRAW_H
#define FUZZ_DRAW_H

#include "sequence.h"

struct team {
    int alive, size;    /* alive: 2 if it stays */
    int failed;         /* a PE of it is lost: its contexts alone are of use */
    int pes[MOST_PES];  /* numbers in the world */
    int rank[MOST_PES]; /* -1: no member */
    uint64_t mask;
    shmem_team_t handle; /* on members */
};

struct context {
    int alive, team;
    int thread; /* -1: any */
    shmem_ctx_t handle;
};

/* The first is the world, and the default context. */
static struct team teams[MOST_TEAMS];
static struct context contexts[MOST_CONTEXTS];

/* The team of all PEs that are left: the world, while none is lost. */
static int everyone;
/* Whether PEs of the job fail. */
static int loses;

/* A barrier of all PEs that are left. */
static void meet(void)
{
    if (lost == 0) {
        F(shmem_barrier_all)();
        return;
    }
    F(shmem_quiet)();
    F(shmem_team_sync)(teams[everyone].handle);
}

static int draw_left(struct rng *rng)
{
    int pe;
    do
        pe = below(rng, n);
    while (!is_left(pe));
    return pe;
}

/* Whether a transfer may have a request, and whether an operation is performed by one that it waits for. */
static int is_nbi(enum kind kind) { return kind == KIND_PUT_NBI || kind == KIND_GET_NBI; }

/* The operator of an atomic operation that may have a request; -1: it may not. */
static int requested_operator(const struct routine *r)
{
    if (r->class == REAL)
        return -1;
    switch (r->kind) {
    case KIND_ATOMIC_FETCH_NBI:
        return SHMEMX_FETCH;
    case KIND_ATOMIC_COMPARE_SWAP_NBI:
        return SHMEMX_COMPARE_SWAP;
    case KIND_ATOMIC_SWAP_NBI:
        return SHMEMX_SWAP;
    case KIND_ATOMIC_FETCH_ADD_NBI:
        return SHMEMX_SUM;
    case KIND_ATOMIC_FETCH_AND_NBI:
        return SHMEMX_AND;
    case KIND_ATOMIC_FETCH_OR_NBI:
        return SHMEMX_OR;
    case KIND_ATOMIC_FETCH_XOR_NBI:
        return SHMEMX_XOR;
    default:
        return -1;
    }
}

static int completes_at_once(const struct routine *r, int number)
{
    return number % 4 == 0 && (is_nbi(r->kind) || requested_operator(r) >= 0);
}

static int draw_team(struct rng *rng)
{
    int i;
    do
        i = below(rng, MOST_TEAMS);
    while (!teams[i].alive || teams[i].failed);
    return i;
}

/* What the model does with a kind. */
enum group { TRANSFERS, ATOMICS, SIGNALS, WAITS, COLLECTIVES, ORDERS, GROUPS };

/* All kinds, without a default: a kind that the table gains must be drawn. */
static enum group group_of(enum kind kind)
{
    switch (kind) {
    case KIND_PUT:
    case KIND_P:
    case KIND_IPUT:
    case KIND_IBPUT:
    case KIND_GET:
    case KIND_G:
    case KIND_IGET:
    case KIND_IBGET:
    case KIND_PUT_NBI:
    case KIND_GET_NBI:
        return TRANSFERS;
    case KIND_ATOMIC_FETCH:
    case KIND_ATOMIC_SET:
    case KIND_ATOMIC_COMPARE_SWAP:
    case KIND_ATOMIC_SWAP:
    case KIND_ATOMIC_FETCH_INC:
    case KIND_ATOMIC_INC:
    case KIND_ATOMIC_FETCH_ADD:
    case KIND_ATOMIC_ADD:
    case KIND_ATOMIC_AND:
    case KIND_ATOMIC_OR:
    case KIND_ATOMIC_XOR:
    case KIND_ATOMIC_FETCH_AND:
    case KIND_ATOMIC_FETCH_OR:
    case KIND_ATOMIC_FETCH_XOR:
    case KIND_ATOMIC_FETCH_NBI:
    case KIND_ATOMIC_COMPARE_SWAP_NBI:
    case KIND_ATOMIC_SWAP_NBI:
    case KIND_ATOMIC_FETCH_INC_NBI:
    case KIND_ATOMIC_FETCH_ADD_NBI:
    case KIND_ATOMIC_FETCH_AND_NBI:
    case KIND_ATOMIC_FETCH_OR_NBI:
    case KIND_ATOMIC_FETCH_XOR_NBI:
        return ATOMICS;
    case KIND_PUT_SIGNAL:
    case KIND_PUT_SIGNAL_NBI:
    case KIND_SIGNAL_SET:
    case KIND_SIGNAL_ADD:
        return SIGNALS;
    case KIND_SIGNAL_FETCH:
    case KIND_SIGNAL_WAIT_UNTIL:
    case KIND_WAIT_UNTIL:
    case KIND_WAIT_UNTIL_ALL:
    case KIND_WAIT_UNTIL_ANY:
    case KIND_WAIT_UNTIL_SOME:
    case KIND_WAIT_UNTIL_ALL_VECTOR:
    case KIND_WAIT_UNTIL_ANY_VECTOR:
    case KIND_WAIT_UNTIL_SOME_VECTOR:
    case KIND_TEST:
    case KIND_TEST_ALL:
    case KIND_TEST_ANY:
    case KIND_TEST_SOME:
    case KIND_TEST_ALL_VECTOR:
    case KIND_TEST_ANY_VECTOR:
    case KIND_TEST_SOME_VECTOR:
    case KIND_WAIT:
        return WAITS;
    case KIND_BARRIER_ALL:
    case KIND_SYNC_ALL:
    case KIND_TEAM_SYNC:
    case KIND_ALLTOALL:
    case KIND_ALLTOALLS:
    case KIND_BROADCAST:
    case KIND_COLLECT:
    case KIND_FCOLLECT:
    case KIND_GATHER:
    case KIND_GATHERV:
    case KIND_SCATTER:
    case KIND_SCATTERV:
    case KIND_ALLTOALLV:
    case KIND_AND_REDUCE:
    case KIND_OR_REDUCE:
    case KIND_XOR_REDUCE:
    case KIND_MAX_REDUCE:
    case KIND_MIN_REDUCE:
    case KIND_SUM_REDUCE:
    case KIND_PROD_REDUCE:
    case KIND_SUM_INSCAN:
    case KIND_SUM_EXSCAN:
    case KIND_SET_BARRIER:
    case KIND_SET_SYNC:
    case KIND_SET_ALLTOALL:
    case KIND_SET_ALLTOALLS:
    case KIND_SET_BROADCAST:
    case KIND_SET_COLLECT:
    case KIND_SET_FCOLLECT:
    case KIND_SET_AND_TO_ALL:
    case KIND_SET_OR_TO_ALL:
    case KIND_SET_XOR_TO_ALL:
    case KIND_SET_MAX_TO_ALL:
    case KIND_SET_MIN_TO_ALL:
    case KIND_SET_SUM_TO_ALL:
    case KIND_SET_PROD_TO_ALL:
        return COLLECTIVES;
    case KIND_FENCE:
    case KIND_QUIET:
    case KIND_PE_QUIET:
        return ORDERS;
    }
    abort();
}

enum { KINDS = sizeof of_kind / sizeof of_kind[0] };

/* A kind of a group. */
static enum kind draw_kind(struct rng *rng, enum group group)
{
    for (;;) {
        enum kind kind = (enum kind)below(rng, KINDS);
        if (group_of(kind) == group)
            return kind;
    }
}

/* A routine of a kind that can be called on the context; of that size, and for integers, unless size
 * is 0. NULL if there is none. */
static const struct routine *draw_routine(struct rng *rng, enum kind kind, int context, int size)
{
    int count = of_kind[kind].count, begin = below(rng, count);
    for (int i = 0; i < count; i++) {
        const struct routine *r = &routines[of_kind[kind].first + (begin + i) % count];
        if (context != 0 && !r->has_ctx)
            continue;
        if (size != 0 && (r->size != size || (r->class != SIGNED && r->class != UNSIGNED)))
            continue;
        return r;
    }
    return NULL;
}

/* A context on which a thread of a PE may operate on another PE. */
static int draw_context(struct rng *rng, int pe, int thread, int target)
{
    int c = once_in(rng, 2) ? 0 : below(rng, MOST_CONTEXTS);
    const struct context *x = &contexts[c];
    if (!x->alive || (x->thread != -1 && x->thread != thread) || teams[x->team].rank[pe] < 0
        || teams[x->team].rank[target] < 0)
        return 0;
    return c;
}

/* A number of elements of which at most `most` fit. */
static size_t draw_count(struct rng *rng, size_t most)
{
    int die = below(rng, 100);
    size_t count = die < 4    ? 0
                   : die < 20 ? 1
                   : die < 65 ? (size_t)between(rng, 1, 16)
                   : die < 90 ? (size_t)between(rng, 1, 200)
                   : die < 98 ? (size_t)between(rng, 1, 3000)
                              : (size_t)between(rng, 1, 1 << 20);
    return count > most ? most : count;
}

static struct area *draw_area(struct rng *rng) { return &areas[below(rng, area_count)]; }

/* A place for `bytes` bytes in an area; untyped data may lie at any address. */
static size_t draw_offset(struct rng *rng, const struct area *a, size_t bytes, enum class class,
                          int size)
{
    size_t at = (size_t)below(rng, (int)(a->bytes - bytes) + 1);
    if (class == BYTES && once_in(rng, 4))
        return at;
    return at - at % (size_t)size;
}

static void set_context(struct op *op, int context, int target)
{
    op->a.ctx = contexts[context].handle;
    op->a.pe = teams[contexts[context].team].rank[target];
}

/* Private memory of this PE with a guard on each side, and the same with what is expected there. */
static unsigned char *private_memory(size_t bytes)
{
    unsigned char *at = take(bytes + 2 * GUARD);
    memset(at, 0xa5, bytes + 2 * GUARD);
    return at + GUARD;
}

/* The check that private memory is what `expected` says, guards included. */
static void expect(struct op *op, unsigned char *found, unsigned char *expected, size_t bytes,
                   int deferred)
{
    op->check = (struct check){found - GUARD, expected - GUARD, bytes + 2 * GUARD,
                               op->routine != NULL && is_padded(op->routine), op->number,
                               op->routine, NULL, 0, GUARD};
    op->deferred = deferred;
}

/* Has private memory be overwritten once the operation has read it. */
static void scribble(struct op *op, unsigned char *source, size_t bytes, int deferred)
{
    op->check.number = op->number;
    op->check.routine = op->routine;
    op->check.scribble = source;
    op->check.scribbled = bytes;
    op->deferred = deferred;
}

/* Completes all operations of a thread on a context, by one of the routines that do. */
static void complete(struct rng *rng, int pe, int thread, int context, int number)
{
    enum kind kind = once_in(rng, 3) ? KIND_PE_QUIET : KIND_QUIET;
    const struct routine *r = draw_routine(rng, kind, context, 0);
    struct op *op = append(pe, thread, CALL, r, number);
    if (op != NULL) {
        const struct team *team = &teams[contexts[context].team];
        int *targets = take(MOST_PES * sizeof *targets);
        for (int i = 0; i < team->size; i++)
            targets[i] = team->size - 1 - i;
        set_context(op, context, pe);
        op->a.target_pes = targets;
        op->a.npes = (size_t)team->size;
        op->completes = 1u << context;
    }
    owners[pe][thread].quiets[context]++;
}

/* Completes all operations of a thread. */
static void complete_all(struct rng *rng, int pe, int thread, int number)
{
    for (int c = 0; c < MOST_CONTEXTS; c++)
        if (contexts[c].alive && (contexts[c].thread == -1 || contexts[c].thread == thread)
            && teams[contexts[c].team].rank[pe] >= 0)
            complete(rng, pe, thread, c, number);
}

/* Takes some of the `count` pointers of an array, in any order, to `into`; NULL: they are another PE's. */
static void draw_some(struct rng *rng, void *array, int *count, int some, void *into)
{
    for (int i = 0; i < some; i++) {
        size_t at = (size_t)below(rng, *count) * sizeof(void *);
        --*count;
        if (into != NULL) {
            memcpy((char *)into + (size_t)i * sizeof(void *), (char *)array + at, sizeof(void *));
            memmove((char *)array + at, (char *)array + (size_t)*count * sizeof(void *), sizeof(void *));
        }
    }
}

#endif
