/* Collective operations: of teams and active sets, each in the lists of all its members. */
#ifndef FUZZ_COLLECTIVES_H
#define FUZZ_COLLECTIVES_H

#include "nonblocking.h"
#include "one_sided.h"

/* Work arrays of active sets: each is used by one call between two barriers of all. */
enum { WORK_ARRAYS = 6, MOST_REDUCED = 512 };
static long sync_arrays[WORK_ARRAYS][SHMEM_SYNC_SIZE];
static union {
    long double align;
    unsigned char bytes[16 * (MOST_REDUCED / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE)];
} work_arrays[WORK_ARRAYS];
/* Displacements of a collective in the same way, in elements. */
static size_t displacements[WORK_ARRAYS][MOST_PES];
static int work_arrays_used;

/* A collective: its members and, for each, how many elements it contributes. */
struct collective {
    const struct routine *r;
    int set; /* on an active set */
    int size, pes[MOST_PES], thread;
    uint64_t mask;
    shmem_team_t team;
    int start, log_stride, work;
    int root;
    size_t count, counts[MOST_PES], dst, sst;
    size_t lengths[MOST_PES][MOST_PES]; /* of the block between two members */
    size_t source_bytes, dest_bytes; /* of every member */
    size_t size_of_element; /* where it is an argument */
    struct area *source_area, *dest_area;
    size_t source, dest;
    int number;
    int nonblocking;
    enum form form;
    enum elements elements;
    unsigned char *results; /* what each member's dest is to be */
};

/* A thread calls the collectives of a team, so that those of different teams run at the same time. */
static int thread_of(int team) { return team % threads; }

static int is_for_sets(enum kind kind)
{
    switch (kind) {
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
        return 1;
    default:
        return 0;
    }
}

/* The operator of a reduction or scan; -1: it is none. */
static int operator_of(enum kind kind)
{
    switch (kind) {
    case KIND_AND_REDUCE:
    case KIND_SET_AND_TO_ALL:
        return OP_AND;
    case KIND_OR_REDUCE:
    case KIND_SET_OR_TO_ALL:
        return OP_OR;
    case KIND_XOR_REDUCE:
    case KIND_SET_XOR_TO_ALL:
        return OP_XOR;
    case KIND_MAX_REDUCE:
    case KIND_SET_MAX_TO_ALL:
        return OP_MAX;
    case KIND_MIN_REDUCE:
    case KIND_SET_MIN_TO_ALL:
        return OP_MIN;
    case KIND_SUM_REDUCE:
    case KIND_SET_SUM_TO_ALL:
    case KIND_SUM_INSCAN:
    case KIND_SUM_EXSCAN:
        return OP_SUM;
    case KIND_PROD_REDUCE:
    case KIND_SET_PROD_TO_ALL:
        return OP_PROD;
    default:
        return -1;
    }
}

/* Whether it has blocks of different lengths, with displacements. */
static int has_displacements(enum kind kind)
{
    return kind == KIND_GATHERV || kind == KIND_SCATTERV || kind == KIND_ALLTOALLV;
}

static void draw_members(struct rng *rng, struct collective *c)
{
    c->set = is_for_sets(c->r->kind);
    if (!c->set) {
        int number = draw_team(rng);
        if (c->r->kind == KIND_BARRIER_ALL || c->r->kind == KIND_SYNC_ALL)
            number = 0;
        const struct team *team = &teams[number];
        c->size = team->size;
        memcpy(c->pes, team->pes, sizeof c->pes);
        c->thread = thread_of(number);
        c->team = team->handle;
        c->mask = team->mask;
        return;
    }
    int start = below(rng, n), log_stride = below(rng, 3);
    c->size = 1 + below(rng, (n - 1 - start) / (1 << log_stride) + 1);
    c->start = start;
    c->log_stride = log_stride;
    for (int i = 0; i < c->size; i++) {
        c->pes[i] = start + (i << log_stride);
        c->mask |= bit(c->pes[i]);
    }
}

/* Sizes, in bytes that every member has at source and dest. */
static void draw_sizes(struct rng *rng, struct collective *c)
{
    size_t size = (size_t)c->r->size, members = (size_t)c->size;
    size_t limit = c->source_area->bytes < c->dest_area->bytes ? c->source_area->bytes : c->dest_area->bytes;
    size_t most = limit / size;
    c->dst = c->sst = 1;
    switch (c->r->kind) {
    case KIND_ALLTOALLS:
    case KIND_SET_ALLTOALLS:
        c->dst = (size_t)between(rng, 1, 4);
        c->sst = (size_t)between(rng, 1, 4);
        c->count = draw_count(rng, most / members / 4);
        c->source_bytes = members * c->count * c->sst * size;
        c->dest_bytes = members * c->count * c->dst * size;
        return;
    case KIND_ALLTOALL:
    case KIND_SET_ALLTOALL:
        c->count = draw_count(rng, most / members);
        c->source_bytes = c->dest_bytes = members * c->count * size;
        return;
    case KIND_GATHERV:
    case KIND_SCATTERV:
    case KIND_ALLTOALLV:
        /* Each in a place of c->count elements of its member's. */
        c->size_of_element = (size_t)between(rng, 1, 9);
        c->count = draw_count(rng, most / members / c->size_of_element);
        c->source_bytes = c->dest_bytes = members * c->count * c->size_of_element;
        for (int i = 0; i < c->size; i++)
            for (int k = 0; k < c->size; k++)
                c->lengths[i][k] = once_in(rng, 4) ? 0 : (size_t)below(rng, (int)c->count + 1);
        return;
    case KIND_SCATTER:
        c->count = draw_count(rng, most / members);
        c->dest_bytes = c->count * size;
        c->source_bytes = members * c->dest_bytes;
        return;
    case KIND_FCOLLECT:
    case KIND_SET_FCOLLECT:
    case KIND_GATHER:
        c->count = draw_count(rng, most / members);
        c->source_bytes = c->count * size;
        c->dest_bytes = members * c->source_bytes;
        return;
    case KIND_COLLECT:
    case KIND_SET_COLLECT: {
        size_t largest = 0, sum = 0;
        for (int i = 0; i < c->size; i++) {
            c->counts[i] = draw_count(rng, most / members);
            largest = c->counts[i] > largest ? c->counts[i] : largest;
            sum += c->counts[i];
        }
        c->source_bytes = largest * size;
        c->dest_bytes = sum * size;
        return;
    }
    default:
        if (c->form == BY_COUNTS) {
            size_t largest = 0, sum = 0;
            for (int i = 0; i < c->size; i++) {
                c->counts[i] = once_in(rng, 4) ? 0 : draw_count(rng, most / members);
                largest = c->counts[i] > largest ? c->counts[i] : largest;
                sum += c->counts[i];
            }
            c->dest_bytes = largest * size;
            c->source_bytes = sum * size;
            return;
        }
        if (c->form == TO_EACH) {
            c->count = draw_count(rng, most / members);
            c->dest_bytes = c->count * size;
            c->source_bytes = members * c->dest_bytes;
            return;
        }
        c->count = draw_count(rng, c->set && operator_of(c->r->kind) >= 0 && most > MOST_REDUCED
                                       ? MOST_REDUCED
                                       : most);
        c->source_bytes = c->dest_bytes = c->count * size;
    }
}

static unsigned char *source_of(const struct collective *c, int member)
{
    return model(c->source_area, c->pes[member], c->source);
}

/* Where the block of a member is, in bytes: behind those of the members after it. */
static size_t place_of_block(const struct collective *c, int member)
{
    return (size_t)(c->size - 1 - member) * c->count * c->size_of_element;
}

/* What `member` finds at dest, in `into`, which has what was there before. */
static void result_of(const struct collective *c, int member, unsigned char *into)
{
    size_t size = (size_t)c->r->size, bytes = c->count * size;
    int op = operator_of(c->r->kind);
    switch (c->r->kind) {
    case KIND_SET_BROADCAST:
        if (member == c->root)
            return;
        memcpy(into, source_of(c, c->root), bytes);
        return;
    case KIND_BROADCAST:
        memcpy(into, source_of(c, c->root), bytes);
        return;
    case KIND_COLLECT:
    case KIND_SET_COLLECT:
        for (int i = 0; i < c->size; i++) {
            memcpy(into, source_of(c, i), c->counts[i] * size);
            into += c->counts[i] * size;
        }
        return;
    case KIND_GATHER:
        if (member != c->root)
            return;
        /* fall through */
    case KIND_FCOLLECT:
    case KIND_SET_FCOLLECT:
        for (int i = 0; i < c->size; i++)
            memcpy(into + (size_t)i * bytes, source_of(c, i), bytes);
        return;
    case KIND_SCATTER:
        memcpy(into, source_of(c, c->root) + (size_t)member * bytes, bytes);
        return;
    case KIND_GATHERV:
        for (int i = 0; member == c->root && i < c->size; i++)
            memcpy(into + place_of_block(c, i), source_of(c, i), c->lengths[i][member] * c->size_of_element);
        return;
    case KIND_SCATTERV:
        memcpy(into, source_of(c, c->root) + place_of_block(c, member),
               c->lengths[c->root][member] * c->size_of_element);
        return;
    case KIND_ALLTOALLV:
        for (int i = 0; i < c->size; i++)
            memcpy(into + place_of_block(c, i), source_of(c, i) + place_of_block(c, member),
                   c->lengths[i][member] * c->size_of_element);
        return;
    case KIND_ALLTOALL:
    case KIND_SET_ALLTOALL:
        for (int i = 0; i < c->size; i++)
            memcpy(into + (size_t)i * bytes, source_of(c, i) + (size_t)member * bytes, bytes);
        return;
    case KIND_ALLTOALLS:
    case KIND_SET_ALLTOALLS:
        for (size_t i = 0; i < (size_t)c->size; i++)
            for (size_t k = 0; k < c->count; k++)
                memcpy(into + (i * c->count + k) * c->dst * size,
                       source_of(c, (int)i) + ((size_t)member * c->count + k) * c->sst * size, size);
        return;
    default:
        break;
    }
    if (c->form == TO_ROOT && member != c->root)
        return;
    size_t block = c->form == TO_EACH ? (size_t)member * bytes : 0, count = c->count;
    int scan = is_scan(c->r->kind);
    if (c->form == BY_COUNTS) {
        count = c->counts[member];
        for (int i = 0; i < member; i++)
            block += c->counts[i] * size;
    }
    int last = c->r->kind == KIND_SUM_INSCAN   ? member
               : c->r->kind == KIND_SUM_EXSCAN ? member - 1
                                               : c->size - 1;
    if (scan)
        memset(into, 0, bytes);
    if (c->form == BY_FUNCTION) {
        if (last >= 0)
            memcpy(into, source_of(c, last), bytes);
        return;
    }
    for (int i = 0; i <= last; i++)
        for (size_t k = 0; k < count; k++) {
            if (i == 0)
                memcpy(into + k * size, source_of(c, 0) + block + k * size, size);
            else if (c->elements != PLAIN)
                combine_elements(c->elements, c->r->size, (enum operator)op, into + k * size,
                                 source_of(c, i) + block + k * size);
            else
                combine(c->r, (enum operator)op, into + k * size, source_of(c, i) + block + k * size);
        }
}

/* A call in the list of each member. */
static void emit_collective(const struct collective *c)
{
    int reduces = c->form != USUAL || c->elements != PLAIN;
    for (int i = 0; i < c->size; i++) {
        struct op *op = append(c->pes[i], c->thread, c->nonblocking ? BEGIN : reduces ? REDUCE : CALL, c->r, c->number);
        int place = c->nonblocking ? begun_count[c->pes[i]][c->thread]++ : 0;
        if (op == NULL)
            continue;
        struct arguments *a = &op->a;
        if (c->nonblocking) {
            struct begun *own = begun[c->thread][place] = take(sizeof *own);
            memset(own, 0, sizeof *own);
            op->begun = memcpy(take(sizeof own), &own, sizeof own);
            own->check.number = c->number;
            own->check.routine = c->r;
            if (c->dest_area != NULL && !needs_numbers(c->r->class) && !is_padded(c->r)) {
                own->check.found = c->dest_area->base + c->dest;
                own->check.expected = c->results + (size_t)i * c->dest_bytes;
                own->check.bytes = c->dest_bytes;
            }
        }
        if (c->dest_area != NULL) {
            a->dest = c->dest_area->base + c->dest;
            a->source = c->source_area->base + c->source;
        }
        int collect = c->r->kind == KIND_COLLECT || c->r->kind == KIND_SET_COLLECT;
        a->nelems = collect ? c->counts[i] : c->count;
        a->dst = (ptrdiff_t)c->dst;
        a->sst = (ptrdiff_t)c->sst;
        a->team = c->team;
        a->PE_root = c->root;
        a->form = c->form;
        a->elements = c->elements;
        if (has_displacements(c->r->kind)) {
            size_t *counts = take((size_t)c->size * sizeof *counts);
            for (int k = 0; k < c->size; k++) {
                displacements[c->work][k] = place_of_block(c, k) / c->size_of_element;
                counts[k] = c->lengths[i][k];
            }
            a->displs = a->dest_displs = a->source_displs = displacements[c->work];
            a->counts = counts;
            a->size = c->size_of_element;
            a->nelems = c->r->kind == KIND_GATHERV ? c->lengths[i][c->root] : c->lengths[c->root][i];
        }
        if (c->form == BY_COUNTS)
            a->counts = memcpy(take((size_t)c->size * sizeof *c->counts), c->counts,
                               (size_t)c->size * sizeof *c->counts);
        a->PE_start = c->start;
        a->logPE_stride = c->log_stride;
        a->PE_size = c->size;
        a->pSync = sync_arrays[c->work];
        a->pWrk = work_arrays[c->work].bytes;
        /* A barrier completes what was issued on the default context. */
        if (c->r->kind == KIND_BARRIER_ALL || c->r->kind == KIND_SET_BARRIER)
            op->completes = 1;
    }
}

static void draw_synchronisation(struct rng *rng, struct collective *c)
{
    for (int i = 0; i < c->size; i++) {
        if (once_in(rng, 2))
            complete_all(rng, c->pes[i], c->thread, c->number);
        else if (c->r->kind == KIND_BARRIER_ALL || c->r->kind == KIND_SET_BARRIER)
            owners[c->pes[i]][c->thread].quiets[0]++;
    }
    emit_collective(c);
    synchronise(c->mask, c->thread);
}

static void synchronise_team(const struct collective *c)
{
    struct collective sync = *c;
    struct rng rng = {0};
    sync.r = draw_routine(&rng, KIND_TEAM_SYNC, 0, 0);
    sync.nonblocking = 0;
    sync.form = USUAL;
    sync.elements = PLAIN;
    sync.dest_area = NULL;
    emit_collective(&sync);
    synchronise(c->mask, c->thread);
}

/* Finds places for source and dest. */
static int draw_places(struct rng *rng, struct collective *c, int store)
{
    for (int tries = 0; tries < TRIES; tries++) {
        c->source = draw_offset(rng, c->source_area, c->source_bytes, c->r->class, c->r->size);
        c->dest = draw_offset(rng, c->dest_area, c->dest_bytes, c->r->class, c->r->size);
        size_t source_end = c->source + c->source_bytes, dest_end = c->dest + c->dest_bytes;
        /* Reductions and scans may be in place. */
        if (operator_of(c->r->kind) >= 0 && c->form != TO_EACH && c->form != BY_COUNTS && once_in(rng, 4)) {
            c->source_area = c->dest_area;
            c->source = c->dest;
        } else if (c->source_area == c->dest_area && c->source < dest_end && c->dest < source_end) {
            continue;
        }
        int free = 1;
        for (int i = 0; free && i < c->size; i++) {
            int pe = c->pes[i];
            struct toucher own = {bit(pe), pe, c->thread, 0, 0, store ? WRITE : READ};
            struct toucher all = {c->mask, pe, c->thread, 0, 0, WRITE};
            free = may_touch(c->source_area, pe, c->source, c->source + c->source_bytes, &own)
                   && may_touch(c->dest_area, pe, c->dest, c->dest + c->dest_bytes, &all);
        }
        if (free)
            return 1;
    }
    return 0;
}

/* Each member stores what its source is to be. */
static void store_sources(struct rng *rng, const struct collective *c)
{
    int op = operator_of(c->r->kind);
    size_t size = (size_t)(c->r->size ? c->r->size : 1);
    for (int i = 0; i < c->size; i++) {
        int pe = c->pes[i];
        unsigned char *at = source_of(c, i);
        if (c->elements != PLAIN)
            random_elements(rng, c->elements, c->r->size, (enum operator)op, at, c->source_bytes / size);
        else if (op >= 0 && needs_numbers(c->r->class))
            random_numbers(rng, c->r, (enum operator)op, at, c->source_bytes / size);
        else
            random_bytes(rng, at, c->source_bytes);
        struct toucher t = {bit(pe), pe, c->thread, 0, 0, WRITE};
        touch(c->source_area, pe, c->source, c->source + c->source_bytes, &t, c->r, c->number)->complete = 1;
        struct op *store = append(pe, c->thread, STORE, NULL, c->number);
        if (store == NULL)
            continue;
        unsigned char *copy = take(c->source_bytes);
        memcpy(copy, at, c->source_bytes);
        store->to = c->source_area->base + c->source;
        store->from = copy;
        store->bytes = c->source_bytes;
    }
}

/* Elements of another type, where a reduction's operator has such. */
static enum elements draw_elements(struct rng *rng, const struct routine *r)
{
    int op = operator_of(r->kind), least_or_greatest = op == OP_MAX || op == OP_MIN;
    if (r->size == 2 && op >= OP_MAX)
        return HALVES + below(rng, 2);
    return r->size >= 8 && least_or_greatest ? PAIRS + below(rng, 2) : PLAIN;
}

static int draw_collective(struct rng *rng, int number)
{
    struct collective c = {.r = draw_routine(rng, draw_kind(rng, COLLECTIVES), 0, 0), .number = number};
    draw_members(rng, &c);
    if (c.mask & lost)
        return 0;
    int works = c.set || has_displacements(c.r->kind);
    if (works && work_arrays_used == WORK_ARRAYS)
        return 0;
    c.work = work_arrays_used;
    c.nonblocking = once_in(rng, 3) && has_nonblocking(c.r);
    for (int i = 0; i < c.size; i++)
        c.nonblocking &= begun_count[c.pes[i]][c.thread] < MOST_BEGUN;
    if (c.r->size == 0) {
        if (c.nonblocking) {
            emit_collective(&c);
            return 1;
        }
        work_arrays_used += c.set;
        draw_synchronisation(rng, &c);
        return 1;
    }
    c.root = below(rng, c.size);
    if (is_reduction(c.r->kind) && once_in(rng, 2))
        c.form = (enum form)below(rng, FORMS);
    if (is_scan(c.r->kind) && once_in(rng, 4))
        c.form = BY_FUNCTION;
    if ((is_reduction(c.r->kind) || is_scan(c.r->kind)) && c.form != BY_FUNCTION && once_in(rng, 2))
        c.elements = draw_elements(rng, c.r);
    c.source_area = draw_area(rng);
    c.dest_area = draw_area(rng);
    draw_sizes(rng, &c);
    int op = operator_of(c.r->kind), numbers = op >= 0 && needs_numbers(c.r->class) && c.elements == PLAIN;
    int store = numbers || c.elements != PLAIN || once_in(rng, 2);
    if (!draw_places(rng, &c, store))
        return 0;
    int in_place = c.source_area == c.dest_area && c.source == c.dest;
    work_arrays_used += works;
    if (store)
        store_sources(rng, &c);
    /* Others may write to dest as soon as they call: not before this member has stored there. */
    if (store && in_place && c.set)
        return 1;
    if (store && in_place)
        synchronise_team(&c);
    unsigned char *results = c.results = take(c.dest_bytes * (size_t)c.size + 1);
    for (int i = 0; i < c.size; i++) {
        memcpy(results + (size_t)i * c.dest_bytes, model(c.dest_area, c.pes[i], c.dest), c.dest_bytes);
        result_of(&c, i, results + (size_t)i * c.dest_bytes);
    }
    emit_collective(&c);
    int apart = numbers || is_padded(c.r);
    for (int i = 0; i < c.size; i++) {
        int pe = c.pes[i];
        memcpy(model(c.dest_area, pe, c.dest), results + (size_t)i * c.dest_bytes, c.dest_bytes);
        struct toucher read = {c.nonblocking ? 0 : bit(pe), pe, c.thread, 0, 0, READ};
        /* What depends on the order of summation, is padding, or goes on, is open until the next barrier. */
        struct toucher write = {apart || c.nonblocking ? 0 : bit(pe), pe, c.thread, 0, 0, WRITE};
        if (!in_place)
            touch(c.source_area, pe, c.source, c.source + c.source_bytes, &read, c.r, number)->complete = 1;
        touch(c.dest_area, pe, c.dest, c.dest + c.dest_bytes, &write, c.r, number)->complete = 1;
        for (size_t at = 0; apart && pe == me && at < c.dest_bytes; at += (size_t)c.r->size)
            compare_apart(c.dest_area, c.dest + at, c.r, numbers, number);
    }
    return 1;
}

/* The standard has work arrays as they were once a collective returns. */
static void check_work_arrays(void)
{
    for (int i = 0; i < WORK_ARRAYS; i++)
        for (int k = 0; k < SHMEM_SYNC_SIZE; k++)
            if (sync_arrays[i][k] != SHMEM_SYNC_VALUE)
                differs(0, "element %d of a work array is %ld after the collective", k, sync_arrays[i][k]);
    work_arrays_used = 0;
}

#endif
