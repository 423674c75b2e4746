/* The sequential model: what every PE's memory holds, and who may touch which part of it next.
 *
 * All PEs draw the same operations from the seed, so each knows what all do. The order in which
 * they are drawn is one of those in which they may happen: an operation is drawn only if all
 * earlier ones that touch the same bytes either happen before it, by what the standard says of
 * ordering and completion, or commute with it. A claim is what one operation touches of one PE's
 * memory. It names the PEs for which the operation has happened before whatever they do next. */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include <stdio.h>
#include <stdlib.h>

#include "values.h"

enum { MOST_PES = 64, MOST_THREADS = 4, MOST_AREAS = 8, MOST_CONTEXTS = 12, MOST_TEAMS = 24 };
/* Bytes on each side of a private buffer that nothing may touch. */
enum { GUARD = 32 };

static int me, n, threads;
static uint64_t seed;
static int step;

static uint64_t bit(int pe) { return UINT64_C(1) << pe; }

/* PEs that have failed, in a job that goes on without them. */
static uint64_t lost;

static int is_left(int pe) { return !(lost & bit(pe)); }

/* Of each kind of team: the lowest PE of those that a PE shares this part of a machine with. The first is the node. */
static int first_of[4][MOST_PES];

static int is_on_hosts(void) { return first_of[0][n - 1] != first_of[0][0]; }

/* Whether a PE's operations reach the memory of another: if that is lost, those of its node do. */
static int reaches(int pe, int other) { return is_left(other) || first_of[0][pe] == first_of[0][other]; }

/* Whether this PE does for one that is lost what each does for itself. */
static int acts_for(int other)
{
    for (int pe = 0; pe < me; pe++)
        if (is_left(pe) && reaches(pe, other))
            return 0;
    return !is_left(other) && reaches(me, other);
}

/* PEs that fail in this phase: what those of other nodes do to their memory may still happen. */
static uint64_t dying;

static void *checked(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "fuzz: PE %d has no memory: use fewer PEs or smaller areas\n", me);
        exit(2);
    }
    return p;
}

/* How an operation touches bytes. WRITE_REMOTE is what a fence orders. */
enum access { READ, WRITE, WRITE_REMOTE, COMMUTING };

struct claim {
    size_t low, high;
    uint64_t pes; /* happened before what these PEs do next, once it is complete */
    enum access access;
    int thread, by, context;
    int complete;       /* regardless of the counts below */
    int quiets, fences; /* of its context, when it was issued */
    int class;          /* operations of one class on one word commute */
    int op;
    const struct routine *routine;
};

struct claims {
    struct claim *all;
    int count, room;
};

/* Symmetric memory. */
struct area {
    char name[24];
    int in_space; /* and not on the heap */
    unsigned char *base;
    size_t bytes;
    unsigned char *model; /* of all PEs, one after the other */
    struct claims claims[MOST_PES];
};

static struct area areas[MOST_AREAS];
static int area_count;

/* A thread of a PE: how often it has completed and ordered the operations of each context. */
struct owner {
    int quiets[MOST_CONTEXTS], fences[MOST_CONTEXTS];
};

static struct owner owners[MOST_PES][MOST_THREADS];

static unsigned char *model(const struct area *a, int pe, size_t at)
{
    return a->model + (size_t)pe * a->bytes + at;
}

static void add_area(const char *name, unsigned char *base, size_t bytes)
{
    struct area *a = &areas[area_count++];
    memset(a, 0, sizeof *a);
    snprintf(a->name, sizeof a->name, "%s", name);
    a->base = base;
    a->bytes = bytes;
    a->model = checked(calloc((size_t)n, bytes));
}

static void remove_area(int number)
{
    struct area *a = &areas[number];
    free(a->model);
    for (int pe = 0; pe < MOST_PES; pe++)
        free(a->claims[pe].all);
    areas[number] = areas[--area_count];
}

/* Gives bytes of an area new contents, on all PEs: each stores its own. */
static void refill(struct area *a, size_t at, size_t bytes, struct rng *rng)
{
    for (int pe = 0; pe < n; pe++)
        random_bytes(rng, model(a, pe, at), bytes);
    memcpy(a->base + at, model(a, me, at), bytes);
}

static void forget_claims(void)
{
    for (int a = 0; a < area_count; a++)
        for (int pe = 0; pe < n; pe++)
            areas[a].claims[pe].count = 0;
    memset(owners, 0, sizeof owners);
    dying = 0;
}

static int is_complete(const struct claim *c)
{
    return c->complete || owners[c->by][c->thread].quiets[c->context] > c->quiets;
}

/* Who is about to touch bytes: the thread must be the same on all these PEs. */
struct toucher {
    uint64_t pes;
    int pe, thread, context, class;
    enum access access;
};

static int permits(const struct claim *c, const struct toucher *t, size_t low, size_t high)
{
    if (c->access == READ && t->access == READ)
        return 1;
    if (c->access == COMMUTING && t->access == COMMUTING && c->class == t->class
        && c->low == low && c->high == high)
        return 1;
    if (c->thread != t->thread)
        return 0;
    if ((c->pes & t->pes) == t->pes && is_complete(c))
        return 1;
    return c->access == WRITE_REMOTE && t->access == WRITE_REMOTE && c->by == t->pe
           && c->pes == bit(t->pe) && c->context == t->context
           && owners[t->pe][t->thread].fences[t->context] > c->fences;
}

static int may_touch(const struct area *a, int pe, size_t low, size_t high,
                     const struct toucher *t)
{
    const struct claims *claims = &a->claims[pe];
    for (int i = 0; i < claims->count; i++) {
        const struct claim *c = &claims->all[i];
        if (c->low < high && low < c->high && !permits(c, t, low, high))
            return 0;
    }
    return 1;
}

/* Whether nothing has touched the bytes since the last barrier of all. */
static int is_untouched(const struct area *a, int pe, size_t low, size_t high)
{
    const struct claims *claims = &a->claims[pe];
    for (int i = 0; i < claims->count; i++)
        if (claims->all[i].low < high && low < claims->all[i].high)
            return 0;
    return 1;
}

static struct claim *touch(struct area *a, int pe, size_t low, size_t high,
                           const struct toucher *t, const struct routine *routine, int op)
{
    struct claims *claims = &a->claims[pe];
    if (claims->count == claims->room) {
        claims->room = 2 * claims->room + 16;
        claims->all = checked(realloc(claims->all, (size_t)claims->room * sizeof *claims->all));
    }
    struct claim *c = &claims->all[claims->count++];
    const struct owner *owner = &owners[t->pe][t->thread];
    *c = (struct claim){
        .low = low, .high = high, .pes = t->pes, .access = t->access, .thread = t->thread,
        .by = t->pe, .context = t->context, .quiets = owner->quiets[t->context],
        .fences = owner->fences[t->context], .class = t->class, .op = op, .routine = routine,
    };
    return c;
}

/* A synchronisation of a thread of these PEs: what happened before for one has for all. */
static void synchronise(uint64_t pes, int thread)
{
    for (int a = 0; a < area_count; a++)
        for (int pe = 0; pe < n; pe++)
            for (int i = 0; i < areas[a].claims[pe].count; i++) {
                struct claim *c = &areas[a].claims[pe].all[i];
                if (c->thread == thread && (c->pes & pes) && is_complete(c)) {
                    c->pes |= pes;
                    c->complete = 1;
                }
            }
}

/* A quiet of a thread for one PE: what it did there on a context is complete. Its own memory has both ends of
 * operations, so what it did there stays open. */
static void complete_at(int pe, int thread, int context, int target)
{
    for (int a = 0; target != pe && a < area_count; a++)
        for (int i = 0; i < areas[a].claims[target].count; i++) {
            struct claim *c = &areas[a].claims[target].all[i];
            c->complete |= c->by == pe && c->thread == thread && c->context == context;
        }
}

/* Elements whose bytes are compared apart from the others: padding has no value, and sums of
 * numbers have signs of zero that depend on the order. Afterwards memory gets what the model has. */
struct apart {
    struct area *area;
    size_t at;
    enum class class;
    int size, by_value;
    int op;
    const struct routine *routine;
};

static struct apart *aparts;
static int apart_count, apart_room;

static void compare_apart(struct area *a, size_t at, const struct routine *r, int by_value, int op)
{
    if (apart_count == apart_room) {
        apart_room = 2 * apart_room + 64;
        aparts = checked(realloc(aparts, (size_t)apart_room * sizeof *aparts));
    }
    aparts[apart_count++] = (struct apart){a, at, r->class, r->size, by_value, op, r};
}

static int is_padded(const struct routine *r) { return r->class == REAL && r->size == 16; }

/* Memory of a phase: freed as a whole at its end. */
struct chunk {
    struct chunk *next;
    max_align_t data[];
};

static struct chunk *chunks;

static void *take(size_t bytes)
{
    struct chunk *c = checked(malloc(sizeof *c + bytes + 64));
    c->next = chunks;
    chunks = c;
    /* Vectors want more than malloc gives. */
    return (void *)(((uintptr_t)c->data + 63) & ~(uintptr_t)63);
}

static void free_chunks(void)
{
    while (chunks != NULL) {
        struct chunk *c = chunks;
        chunks = c->next;
        free(c);
    }
}

#endif
