/* Words that a PE waits for, with data that arrive before them. */
#ifndef FUZZ_MESSAGES_H
#define FUZZ_MESSAGES_H

#include "one_sided.h"

enum { MOST_WORDS = 6, MOST_MESSAGE = 20000 };

static int has_set(enum kind kind)
{
    return kind != KIND_WAIT_UNTIL && kind != KIND_TEST && kind != KIND_WAIT
           && kind != KIND_SIGNAL_WAIT_UNTIL && kind != KIND_SIGNAL_FETCH;
}

static int has_vector(enum kind kind)
{
    switch (kind) {
    case KIND_WAIT_UNTIL_ALL_VECTOR:
    case KIND_WAIT_UNTIL_ANY_VECTOR:
    case KIND_WAIT_UNTIL_SOME_VECTOR:
    case KIND_TEST_ALL_VECTOR:
    case KIND_TEST_ANY_VECTOR:
    case KIND_TEST_SOME_VECTOR:
        return 1;
    default:
        return 0;
    }
}

/* What words are, what they become, and the condition that they meet then, but not before. */
struct change {
    int count, cmp;
    int waited[MOST_WORDS];
    __int128 before[MOST_WORDS], after[MOST_WORDS], values[MOST_WORDS];
};

static void draw_change(struct rng *rng, const struct routine *r, struct change *c)
{
    int bits = 8 * r->size, vector = has_vector(r->kind);
    __int128 least = r->class == SIGNED ? -((__int128)1 << (bits - 1)) : 0;
    __int128 most = least + ((__int128)1 << bits) - 1;
    __int128 low = most, high = least;
    for (int i = 0; i < c->count; i++) {
        low = c->before[i] < low ? c->before[i] : low;
        high = c->before[i] > high ? c->before[i] : high;
    }
    c->cmp = r->kind == KIND_WAIT ? SHMEM_CMP_NE : between(rng, SHMEM_CMP_EQ, SHMEM_CMP_LE);
    if (c->cmp == SHMEM_CMP_NE && !vector && low != high)
        c->cmp = SHMEM_CMP_EQ;
    if ((c->cmp == SHMEM_CMP_GT || c->cmp == SHMEM_CMP_GE) && most - high < 16)
        c->cmp = vector || low == high ? SHMEM_CMP_NE : SHMEM_CMP_EQ;
    if ((c->cmp == SHMEM_CMP_LT || c->cmp == SHMEM_CMP_LE) && low - least < 16)
        c->cmp = vector || low == high ? SHMEM_CMP_NE : SHMEM_CMP_EQ;
    unsigned char bytes[8];
    __int128 fresh;
    int old;
    do {
        random_bytes(rng, bytes, 8);
        fresh = load_integer(r->class, r->size, bytes);
        old = 0;
        for (int i = 0; i < c->count; i++)
            old |= fresh == c->before[i];
    } while (old);
    for (int i = 0; i < c->count; i++) {
        __int128 top = vector ? c->before[i] : high, bottom = vector ? c->before[i] : low;
        int further = below(rng, 7);
        switch (c->cmp) {
        case SHMEM_CMP_EQ:
            c->values[i] = c->after[i] = fresh;
            break;
        case SHMEM_CMP_NE:
            c->values[i] = c->before[i];
            c->after[i] = fresh;
            break;
        case SHMEM_CMP_GT:
            c->values[i] = top;
            c->after[i] = top + 1 + further;
            break;
        case SHMEM_CMP_GE:
            c->values[i] = top + 1;
            c->after[i] = top + 1 + further;
            break;
        case SHMEM_CMP_LT:
            c->values[i] = bottom;
            c->after[i] = bottom - 1 - further;
            break;
        default:
            c->values[i] = bottom - 1;
            c->after[i] = bottom - 1 - further;
        }
    }
}

/* A message: who sends it on which context, and what data go before the word. */
struct message {
    int sender, thread, context, receiver, receiver_thread;
    struct area *area;
    size_t at, bytes; /* of the data; no bytes: none */
};

/* Data that no other PE touches before the next barrier of all. */
static void draw_data(struct rng *rng, struct message *m)
{
    m->area = draw_area(rng);
    size_t most = m->area->bytes / 2;
    m->bytes = once_in(rng, 3) ? 0 : draw_count(rng, most < MOST_MESSAGE ? most : MOST_MESSAGE);
    m->at = draw_offset(rng, m->area, m->bytes, BYTES, 8);
    if (!is_untouched(m->area, m->receiver, m->at, m->at + m->bytes))
        m->bytes = 0;
    if (m->bytes != 0) {
        struct toucher t = {bit(m->receiver), m->receiver, m->receiver_thread, 0, 0, WRITE};
        touch(m->area, m->receiver, m->at, m->at + m->bytes, &t, NULL, 0)->complete = 1;
    }
}

static void send_data(struct rng *rng, const struct message *m, int number)
{
    const struct routine *r = NULL;
    enum kind kind = once_in(rng, 2) ? KIND_PUT : KIND_PUT_NBI;
    do
        r = draw_routine(rng, kind, m->context, 0);
    while (m->bytes % (size_t)r->size != 0 || is_padded(r)
           || (r->class != BYTES && m->at % (size_t)r->size != 0));
    unsigned char *there = model(m->area, m->receiver, m->at);
    random_bytes(rng, there, m->bytes);
    struct op *op = append(m->sender, m->thread, CALL, r, number);
    if (op != NULL) {
        unsigned char *source = private_memory(m->bytes);
        memcpy(source, there, m->bytes);
        op->a.dest = m->area->base + m->at;
        op->a.source = source;
        op->a.nelems = m->bytes / (size_t)r->size;
        set_context(op, m->context, m->receiver);
        scribble(op, source, m->bytes, kind == KIND_PUT ? -1 : m->context);
    }
    if (once_in(rng, 4)) {
        complete(rng, m->sender, m->thread, m->context, number);
        return;
    }
    op = append(m->sender, m->thread, CALL, draw_routine(rng, KIND_FENCE, m->context, 0), number);
    if (op != NULL)
        set_context(op, m->context, m->sender);
    owners[m->sender][m->thread].fences[m->context]++;
}

/* The put of a word that is waited for, or an atomic operation on it. */
static void send_word(struct rng *rng, const struct message *m, const struct routine *waiting,
                      struct area *a, size_t at, __int128 after, int number)
{
    static const enum kind kinds[] = {
        KIND_P,           KIND_ATOMIC_SET,       KIND_ATOMIC_ADD,      KIND_ATOMIC_SWAP,
        KIND_ATOMIC_SWAP_NBI, KIND_ATOMIC_FETCH_ADD, KIND_ATOMIC_COMPARE_SWAP, KIND_ATOMIC_FETCH_ADD_NBI,
        KIND_ATOMIC_COMPARE_SWAP_NBI, KIND_ATOMIC_XOR,
    };
    int size = waiting->size;
    enum kind kind = size < 4 ? KIND_P : kinds[below(rng, 10)];
    const struct routine *r = draw_routine(rng, kind, m->context, size);
    if (r == NULL)
        r = draw_routine(rng, kind = KIND_P, m->context, size);
    unsigned char before[8] = {0}, value[8] = {0};
    memcpy(before, model(a, m->receiver, at), (size_t)size);
    __int128 old = load_integer(UNSIGNED, size, before);
    int add = kind == KIND_ATOMIC_ADD || kind == KIND_ATOMIC_FETCH_ADD
              || kind == KIND_ATOMIC_FETCH_ADD_NBI;
    store_integer(size, value, add ? after - old : kind == KIND_ATOMIC_XOR ? after ^ old : after);
    if (kind != KIND_P) {
        emit_atomic(m->sender, m->thread, m->receiver, m->context, r, a, at, value, before, 1, number);
        return;
    }
    memcpy(model(a, m->receiver, at), value, (size_t)size);
    struct op *op = append(m->sender, m->thread, CALL, r, number);
    if (op == NULL)
        return;
    op->a.dest = a->base + at;
    unsigned char *copy = take(8);
    memcpy(copy, value, 8);
    op->a.value = copy;
    set_context(op, m->context, m->receiver);
}

/* The update of a signal, by itself or together with the data. */
static void send_signal(struct rng *rng, struct message *m, struct area *a, size_t at,
                        __int128 after, int number)
{
    uint64_t old, value = (uint64_t)after;
    memcpy(&old, model(a, m->receiver, at), 8);
    int add = once_in(rng, 2), together = m->bytes != 0 && !once_in(rng, 4);
    if (m->bytes != 0 && !together)
        send_data(rng, m, number);
    enum kind kind = add ? KIND_SIGNAL_ADD : KIND_SIGNAL_SET;
    if (together)
        kind = once_in(rng, 2) ? KIND_PUT_SIGNAL : KIND_PUT_SIGNAL_NBI;
    const struct routine *r;
    do
        r = draw_routine(rng, kind, m->context, 0);
    while (together && (m->bytes % (size_t)r->size != 0 || is_padded(r)
                        || (r->class != BYTES && m->at % (size_t)r->size != 0)));
    memcpy(model(a, m->receiver, at), &value, 8);
    if (together)
        random_bytes(rng, model(m->area, m->receiver, m->at), m->bytes);
    struct op *op = append(m->sender, m->thread, CALL, r, number);
    if (op == NULL)
        return;
    op->a.sig_addr = (uint64_t *)(void *)(a->base + at);
    op->a.sig_op = add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    op->a.signal = add ? value - old : value;
    set_context(op, m->context, m->receiver);
    if (together) {
        unsigned char *source = private_memory(m->bytes);
        memcpy(source, model(m->area, m->receiver, m->at), m->bytes);
        op->a.dest = m->area->base + m->at;
        op->a.source = source;
        op->a.nelems = m->bytes / (size_t)r->size;
        scribble(op, source, m->bytes, kind == KIND_PUT_SIGNAL ? -1 : m->context);
    }
}

static void emit_wait(const struct change *c, const struct routine *r, const struct area *a,
                      size_t at, int pe, int thread, const unsigned char *before, int number)
{
    struct op *op = append(pe, thread, WAIT, r, number);
    if (op == NULL)
        return;
    size_t bytes = (size_t)c->count * (size_t)r->size;
    unsigned char *memory = take(4 * 64);
    int *status = take(MOST_WORDS * sizeof *status);
    memcpy(memory, before, bytes);
    memcpy(memory + 64, model(a, pe, at), bytes);
    store_integer(r->size, memory + 128, c->values[0]);
    for (int i = 0; i < c->count; i++) {
        store_integer(r->size, memory + 192 + i * r->size, c->values[i]);
        status[i] = !c->waited[i];
    }
    op->waited = (struct waited){
        .words = a->base + at, .status = status, .count = c->count, .cmp = c->cmp,
        .before = memory, .after = memory + 64, .common = memory + 128,
        .values = has_vector(r->kind) ? memory + 192 : NULL,
    };
    op->a.dest = a->base + at;
    op->a.source = a->base + at;
    op->a.sig_addr = (uint64_t *)(void *)(a->base + at);
    op->a.nelems = (size_t)c->count;
    op->a.cmp = c->cmp;
    op->a.value = memory + 128;
    op->a.values = memory + 192;
    op->a.status = status;
    op->a.result = take(16);
}

/* A PE waits for words that others change, each after some data, and then looks at the data. */
static int draw_message(struct rng *rng, int pe, int thread, int number)
{
    const struct routine *r = draw_routine(rng, draw_kind(rng, WAITS), 0, 0);
    int signal = r->kind == KIND_SIGNAL_WAIT_UNTIL || r->kind == KIND_SIGNAL_FETCH;
    struct change c = {.count = has_set(r->kind) ? between(rng, 1, MOST_WORDS) : 1};
    struct area *a = draw_area(rng);
    size_t size = (size_t)r->size, bytes = (size_t)c.count * size, at = 0;
    for (int tries = 0;; tries++) {
        if (tries == TRIES)
            return 0;
        at = draw_offset(rng, a, bytes, SIGNED, r->size);
        if (is_untouched(a, pe, at, at + bytes))
            break;
    }
    unsigned char before[64];
    memcpy(before, model(a, pe, at), bytes);
    for (int i = 0; i < c.count; i++)
        c.before[i] = load_integer(r->class, r->size, before + (size_t)i * size);
    draw_change(rng, r, &c);
    struct toucher t = {bit(pe), pe, thread, 0, 0, WRITE};
    touch(a, pe, at, at + bytes, &t, r, number)->complete = 1;
    struct message sent[MOST_WORDS];
    for (int i = 0; i < c.count; i++) {
        struct message *m = &sent[i];
        c.waited[i] = !has_set(r->kind) || !once_in(rng, 4);
        if (!c.waited[i])
            continue;
        m->sender = draw_left(rng);
        m->thread = below(rng, threads);
        m->receiver = pe;
        m->receiver_thread = thread;
        m->context = draw_context(rng, m->sender, m->thread, pe);
        draw_data(rng, m);
        if (signal) {
            send_signal(rng, m, a, at, c.after[0], number);
            continue;
        }
        if (m->bytes != 0)
            send_data(rng, m, number);
        send_word(rng, m, r, a, at + (size_t)i * size, c.after[i], number);
    }
    emit_wait(&c, r, a, at, pe, thread, before, number);
    for (int i = 0; i < c.count; i++) {
        const struct message *m = &sent[i];
        struct op *op = !c.waited[i] || m->bytes == 0 ? NULL : append(pe, thread, NOTHING, r, number);
        if (op == NULL)
            continue;
        unsigned char *expected = take(m->bytes);
        memcpy(expected, model(m->area, pe, m->at), m->bytes);
        op->check = (struct check){m->area->base + m->at, expected, m->bytes, 0, number, r, NULL, 0, 0};
    }
    return 1;
}

#endif
