/* Operations of one PE: transfers, atomic operations, ordering, loads and stores. */
#ifndef FUZZ_ONE_SIDED_H
#define FUZZ_ONE_SIDED_H

#include "draw.h"

/* Which elements of an array a transfer takes: blocks, so many elements apart. */
struct shape {
    size_t stride, block;
};

static size_t index_of(struct shape s, size_t i) { return i / s.block * s.stride + i % s.block; }

static size_t span_of(struct shape s, size_t nelems)
{
    return nelems == 0 ? 0 : index_of(s, nelems - 1) + 1;
}

enum { TRIES = 6, FEW = 8 };

/* Whether the elements may be touched: each by itself if they are few and apart. */
static int may_touch_shape(const struct area *a, int pe, size_t at, struct shape s, size_t nelems,
                           size_t size, const struct toucher *t)
{
    if (nelems > FEW || s.stride == s.block)
        return may_touch(a, pe, at, at + span_of(s, nelems) * size, t);
    for (size_t i = 0; i < nelems; i++) {
        size_t low = at + index_of(s, i) * size;
        if (!may_touch(a, pe, low, low + size, t))
            return 0;
    }
    return 1;
}

static void touch_shape(struct area *a, int pe, size_t at, struct shape s, size_t nelems, size_t size,
                        const struct toucher *t, int complete, const struct routine *r, int number)
{
    if (nelems > FEW || s.stride == s.block) {
        if (nelems != 0)
            touch(a, pe, at, at + span_of(s, nelems) * size, t, r, number)->complete = complete;
        return;
    }
    for (size_t i = 0; i < nelems; i++) {
        size_t low = at + index_of(s, i) * size;
        touch(a, pe, low, low + size, t, r, number)->complete = complete;
    }
}

static int is_get(enum kind kind)
{
    return kind == KIND_GET || kind == KIND_G || kind == KIND_IGET || kind == KIND_IBGET
           || kind == KIND_GET_NBI;
}

static int is_strided(enum kind kind)
{
    return kind == KIND_IPUT || kind == KIND_IGET || kind == KIND_IBPUT || kind == KIND_IBGET;
}

/* The shape of one side of a transfer. */
static struct shape draw_shape(struct rng *rng, enum kind kind, size_t block)
{
    if (!is_strided(kind))
        return (struct shape){1, 1};
    if (kind == KIND_IPUT || kind == KIND_IGET)
        return (struct shape){(size_t)between(rng, 1, 5), 1};
    return (struct shape){block + (size_t)below(rng, 4), block};
}

/* A put or get between a PE's symmetric or private memory and that of another, or its own. `into`, if
 * given, is the area of a put that is to be waited for: its place is returned. 0 if none is free. */
static int draw_transfer(struct rng *rng, int pe, int thread, int target, int context,
                         const struct routine *r, int number)
{
    int get = is_get(r->kind), requested = completes_at_once(r, number), nbi = is_nbi(r->kind) && !requested;
    int single = r->kind == KIND_P || r->kind == KIND_G;
    size_t size = (size_t)r->size;
    int lands = reaches(pe, target);
    /* Padding is compared by the PE that has it. */
    if (is_padded(r) && !is_left(target))
        return 0;
    struct area *remote = draw_area(rng), *local = draw_area(rng);
    size_t block = (size_t)between(rng, 1, 6);
    struct shape there = draw_shape(rng, r->kind, block), here = draw_shape(rng, r->kind, block);
    size_t limit = remote->bytes < local->bytes ? remote->bytes : local->bytes;
    size_t nelems = single ? 1 : draw_count(rng, limit / size);
    if (here.block > 1 || there.block > 1)
        nelems -= nelems % block;
    while (span_of(there, nelems) * size > limit || span_of(here, nelems) * size > limit)
        nelems = nelems / 2 - nelems / 2 % block;
    size_t bytes = span_of(here, nelems) * size, remote_bytes = span_of(there, nelems) * size;
    /* What an operation gets that does not reach its target has any value. */
    int symmetric = !single && once_in(rng, 2) && (lands || !get);
    struct toucher outer = {bit(pe), pe, thread, context, 0, get ? READ : WRITE_REMOTE};
    struct toucher inner = {bit(pe), pe, thread, context, 0, get ? WRITE : READ};
    size_t at = 0, own = 0;
    for (int tries = 0;; tries++) {
        if (tries == TRIES)
            return 0;
        at = draw_offset(rng, remote, remote_bytes, r->class, r->size);
        own = draw_offset(rng, local, bytes, r->class, r->size);
        /* The two sides must not overlap. */
        if (symmetric && pe == target && remote == local && at < own + bytes
            && own < at + remote_bytes)
            continue;
        if (may_touch_shape(remote, target, at, there, nelems, size, &outer)
            && (!symmetric || may_touch_shape(local, pe, own, here, nelems, size, &inner)))
            break;
    }
    /* What a long double's padding becomes is open until the next barrier. */
    int padded = is_padded(r);
    if ((padded && !get) || !lands)
        outer.pes = 0;
    if (padded && get)
        inner.pes = 0;
    touch_shape(remote, target, at, there, nelems, size, &outer, requested || (get && !nbi), r, number);
    if (symmetric)
        touch_shape(local, pe, own, here, nelems, size, &inner, !nbi, r, number);
    unsigned char *data = NULL, *real = NULL, *expected = NULL;
    if (symmetric) {
        data = model(local, pe, own);
    } else if (get) {
        expected = data = private_memory(bytes);
    } else {
        data = take(bytes);
        random_bytes(rng, data, bytes);
    }
    unsigned char *outside = model(remote, target, at);
    for (size_t i = 0; lands && i < nelems; i++) {
        size_t out = index_of(there, i) * size, in = index_of(here, i) * size;
        memcpy(get ? data + in : outside + out, get ? outside + out : data + in, size);
        if (padded && !get && target == me)
            compare_apart(remote, at + out, r, 0, number);
        if (padded && get && symmetric && pe == me)
            compare_apart(local, own + in, r, 0, number);
    }
    struct op *op = append(pe, thread, CALL, r, number);
    if (op == NULL)
        return 1;
    if (symmetric) {
        real = local->base + own;
    } else {
        real = private_memory(bytes);
        if (!get)
            memcpy(real, data, bytes);
    }
    op->a.dest = get ? (void *)real : remote->base + at;
    op->a.source = get ? (const void *)(remote->base + at) : real;
    op->a.value = op->a.result = real;
    op->a.nelems = nelems;
    op->a.dst = (ptrdiff_t)(get ? here.stride : there.stride);
    op->a.sst = (ptrdiff_t)(get ? there.stride : here.stride);
    op->a.bsize = block;
    op->a.nblocks = nelems / block;
    set_context(op, context, target);
    if (get && !symmetric && lands)
        expect(op, real, expected, bytes, nbi ? context : -1);
    else if (!symmetric)
        scribble(op, real, bytes, nbi ? context : -1);
    return 1;
}

static int fetches(enum kind kind)
{
    switch (kind) {
    case KIND_ATOMIC_SET:
    case KIND_ATOMIC_INC:
    case KIND_ATOMIC_ADD:
    case KIND_ATOMIC_AND:
    case KIND_ATOMIC_OR:
    case KIND_ATOMIC_XOR:
        return 0;
    default:
        return 1;
    }
}

static int fetches_later(enum kind kind)
{
    switch (kind) {
    case KIND_ATOMIC_FETCH_NBI:
    case KIND_ATOMIC_COMPARE_SWAP_NBI:
    case KIND_ATOMIC_SWAP_NBI:
    case KIND_ATOMIC_FETCH_INC_NBI:
    case KIND_ATOMIC_FETCH_ADD_NBI:
    case KIND_ATOMIC_FETCH_AND_NBI:
    case KIND_ATOMIC_FETCH_OR_NBI:
    case KIND_ATOMIC_FETCH_XOR_NBI:
        return 1;
    default:
        return 0;
    }
}

/* Operations of one class commute; 0: with none. */
static int class_of(enum kind kind)
{
    switch (kind) {
    case KIND_ATOMIC_INC:
    case KIND_ATOMIC_ADD:
    case KIND_ATOMIC_FETCH_INC:
    case KIND_ATOMIC_FETCH_ADD:
    case KIND_ATOMIC_FETCH_INC_NBI:
    case KIND_ATOMIC_FETCH_ADD_NBI:
        return 1;
    case KIND_ATOMIC_AND:
    case KIND_ATOMIC_FETCH_AND:
    case KIND_ATOMIC_FETCH_AND_NBI:
        return 2;
    case KIND_ATOMIC_OR:
    case KIND_ATOMIC_FETCH_OR:
    case KIND_ATOMIC_FETCH_OR_NBI:
        return 3;
    case KIND_ATOMIC_XOR:
    case KIND_ATOMIC_FETCH_XOR:
    case KIND_ATOMIC_FETCH_XOR_NBI:
        return 4;
    default:
        return 0;
    }
}

/* An atomic operation on a word that may be touched so. `known`: what it fetches is. */
static void emit_atomic(int pe, int thread, int target, int context, const struct routine *r,
                        struct area *a, size_t at, const void *value, const void *cond, int known,
                        int number)
{
    unsigned char *word = model(a, target, at), before[8];
    memcpy(before, word, (size_t)r->size);
    known &= reaches(pe, target);
    if (reaches(pe, target))
        apply_atomic(r->kind, r->size, word, value, cond);
    struct op *op = append(pe, thread, CALL, r, number);
    if (op == NULL)
        return;
    unsigned char *values = take(64), *found = private_memory(8), *expected = private_memory(8);
    memcpy(values, value, 8);
    memcpy(values + 16, cond, 8);
    op->a.dest = a->base + at;
    op->a.source = a->base + at;
    op->a.value = values;
    op->a.cond = values + 16;
    op->a.fetch = op->a.result = found;
    set_context(op, context, target);
    if (!fetches(r->kind))
        return;
    memcpy(expected, known ? before : found, (size_t)r->size);
    int later = fetches_later(r->kind) && !completes_at_once(r, number);
    if (known)
        expect(op, found, expected, 8, later ? context : -1);
    else if (later)
        scribble(op, found, 0, context);
}

/* A word has a third of the atomic operations for itself; others commute on it. */
static int draw_atomic(struct rng *rng, int pe, int thread, int number)
{
    int target = below(rng, n), context = draw_context(rng, pe, thread, target);
    const struct routine *r = draw_routine(rng, draw_kind(rng, ATOMICS), context, 0);
    if (r == NULL)
        return 0;
    struct area *a = draw_area(rng);
    int class = once_in(rng, 3) ? 0 : class_of(r->kind);
    int fetch = r->kind == KIND_ATOMIC_FETCH || r->kind == KIND_ATOMIC_FETCH_NBI;
    struct toucher t = {reaches(pe, target) ? bit(pe) : 0, pe, thread, context, class * 16 + r->size,
                        class ? COMMUTING : fetch ? READ : WRITE_REMOTE};
    size_t size = (size_t)r->size;
    for (int tries = 0; tries < TRIES; tries++) {
        /* Few words, so that operations meet. */
        size_t at = class ? (size_t)below(rng, 16) * 8 : draw_offset(rng, a, size, SIGNED, r->size);
        if (at + size > a->bytes || !may_touch(a, target, at, at + size, &t))
            continue;
        struct claim *c = touch(a, target, at, at + size, &t, r, number);
        c->complete = !class && fetches(r->kind) && !fetches_later(r->kind);
        unsigned char value[8], cond[8];
        random_bytes(rng, value, 8);
        random_bytes(rng, cond, 8);
        if (once_in(rng, 2))
            memcpy(cond, model(a, target, at), size);
        emit_atomic(pe, thread, target, context, r, a, at, value, cond, !class, number);
        return 1;
    }
    return 0;
}

/* Signals that no PE waits for. */
static int draw_signal(struct rng *rng, int pe, int thread, int number)
{
    int target = below(rng, n), context = draw_context(rng, pe, thread, target);
    enum kind kind = once_in(rng, 2) ? KIND_SIGNAL_ADD : KIND_SIGNAL_SET;
    const struct routine *r = draw_routine(rng, kind, context, 0);
    struct area *a = draw_area(rng);
    int add = kind == KIND_SIGNAL_ADD;
    struct toucher t = {reaches(pe, target) ? bit(pe) : 0, pe, thread, context, 1000, add ? COMMUTING : WRITE_REMOTE};
    for (int tries = 0; r != NULL && tries < TRIES; tries++) {
        size_t at = add ? 128 + (size_t)below(rng, 8) * 8 : draw_offset(rng, a, 8, SIGNED, 8);
        if (at + 8 > a->bytes || !may_touch(a, target, at, at + 8, &t))
            continue;
        touch(a, target, at, at + 8, &t, r, number);
        uint64_t value = next(rng);
        if (reaches(pe, target))
            apply_atomic(kind, 8, model(a, target, at), &value, &value);
        struct op *op = append(pe, thread, CALL, r, number);
        if (op != NULL) {
            op->a.sig_addr = (uint64_t *)(void *)(a->base + at);
            op->a.signal = value;
            set_context(op, context, target);
        }
        return 1;
    }
    return 0;
}

static int draw_order(struct rng *rng, int pe, int thread, int number)
{
    int context = draw_context(rng, pe, thread, pe);
    if (once_in(rng, 3)) {
        complete(rng, pe, thread, context, number);
        return 1;
    }
    enum kind kind = once_in(rng, 3) ? KIND_PE_QUIET : KIND_FENCE;
    const struct routine *r = draw_routine(rng, kind, context, 0);
    const struct team *team = &teams[contexts[context].team];
    int some = below(rng, 4), last = below(rng, n);
    struct op *op = append(pe, thread, CALL, r, number);
    if (kind == KIND_FENCE)
        owners[pe][thread].fences[context]++;
    for (int i = 0; kind == KIND_PE_QUIET && i < some; i++)
        complete_at(pe, thread, context, team->pes[(last + i) % team->size]);
    if (op != NULL) {
        int *targets = take(4 * sizeof *targets);
        for (int i = 0; i < some; i++)
            targets[i] = (last + i) % team->size;
        set_context(op, context, pe);
        op->a.target_pes = targets;
        op->a.npes = (size_t)some;
    }
    return 1;
}

/* Loads and stores of symmetric memory, one's own and through shmem_ptr. */
static int draw_access(struct rng *rng, int pe, int thread, int number)
{
    struct area *a = draw_area(rng);
    size_t bytes = draw_count(rng, a->bytes < 4096 ? a->bytes : 4096);
    int store = once_in(rng, 2), target = once_in(rng, 2) ? pe : below(rng, n);
    if (!store)
        target = pe;
    enum access access = !store ? READ : target == pe ? WRITE : WRITE_REMOTE;
    struct toucher t = {reaches(pe, target) ? bit(pe) : 0, pe, thread, 0, 0, access};
    size_t at = draw_offset(rng, a, bytes, BYTES, 8);
    if (bytes == 0 || !may_touch(a, target, at, at + bytes, &t))
        return 0;
    touch(a, target, at, at + bytes, &t, NULL, number)->complete = target == pe;
    unsigned char *expected = private_memory(bytes), *there = model(a, target, at);
    if (store) {
        random_bytes(rng, expected, bytes);
        if (reaches(pe, target))
            memcpy(there, expected, bytes);
    } else {
        memcpy(expected, there, bytes);
    }
    enum action action = !store ? NOTHING : target == pe ? STORE : STORE_DIRECTLY;
    struct op *op = append(pe, thread, action, NULL, number);
    if (op == NULL)
        return 1;
    op->to = a->base + at;
    op->from = expected;
    op->bytes = bytes;
    op->a.pe = target;
    if (!store) {
        /* Guards are another's memory. */
        op->check = (struct check){a->base + at, expected, bytes, 0, number, NULL, NULL, 0, 0};
    }
    return 1;
}

#endif
