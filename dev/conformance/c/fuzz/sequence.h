/* What the threads of this PE do in a phase, and the comparison with the model. */
#ifndef FUZZ_SEQUENCE_H
#define FUZZ_SEQUENCE_H

#include <pthread.h>
#include <shmemx.h>
#include <time.h>

#include "model.h"

/* Bytes of private memory that are to be as expected once an operation is complete. */
struct check {
    const unsigned char *found, *expected;
    size_t bytes;
    int padded; /* long doubles: padding has no value */
    int number;
    const struct routine *routine;
    /* Private memory that may be overwritten then: the operation must have read it. */
    unsigned char *scribble;
    size_t scribbled;
    int guard; /* bytes of guard before what is looked at: private memory */
};

/* Words that a PE waits for. */
struct waited {
    unsigned char *words;
    int *status;
    int count, cmp;
    const unsigned char *before, *after, *common, *values;
};

enum action { CALL, STORE, STORE_DIRECTLY, WAIT, PAUSE, NOTHING, BEGIN, END, REDUCE, POST, END_POSTINGS };

struct begun;
struct posting;

struct op {
    struct op *following;
    enum action action;
    int number;
    const struct routine *routine;
    struct arguments a;
    struct check check;
    int deferred;      /* context on whose completion the check waits; -1: none */
    unsigned completes; /* contexts, as bits */
    struct waited waited;
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
    int microseconds;
    struct begun **begun; /* what the operation begins, or ends */
    struct posting **posted;
    int ended, way;
};

struct list {
    struct op *first, *last;
};

static struct list lists[MOST_THREADS];

/* Which routines this PE has called, and how often any. */
static unsigned char called[sizeof routines / sizeof routines[0]];
static long calls;
static long long compared;

__attribute__((__noreturn__, __format__(printf, 2, 3))) static void differs(int number,
                                                                            const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "fuzz: seed %llu, step %d.%d: PE %d of %d: %s\n", (unsigned long long)seed,
            step, number, me, n, text);
    fflush(stderr);
    F(shmem_global_exit)(1);
}

static void expect_that(int ok, const char *what, int number)
{
    calls++;
    if (!ok)
        differs(number, "%s: not as the standard says", what);
}

/* A further operation of a thread of a PE; NULL if that is another PE. */
static struct op *append(int pe, int thread, enum action action, const struct routine *routine,
                         int number)
{
    if (pe != me)
        return NULL;
    struct op *op = take(sizeof *op);
    memset(op, 0, sizeof *op);
    op->action = action;
    op->routine = routine;
    op->number = number;
    op->deferred = -1;
    struct list *list = &lists[thread];
    if (list->last == NULL)
        list->first = op;
    else
        list->last->following = op;
    list->last = op;
    return op;
}

static void pause_for(int microseconds)
{
    struct timespec t = {microseconds / 1000000, microseconds % 1000000 * 1000L};
    nanosleep(&t, NULL);
}

static void examine(const struct check *c)
{
    if (c->scribble != NULL)
        memset(c->scribble, 0xee, c->scribbled);
    for (size_t i = 0; i < c->bytes; i++) {
        if (c->padded && i % 16 >= LONG_DOUBLE_BYTES)
            continue;
        if (c->found[i] != c->expected[i])
            differs(c->number, "%s: byte %zd of %s: expected %02x, found %02x",
                    c->routine ? c->routine->name : "load", (ssize_t)i - c->guard,
                    c->guard ? "the private memory" : "what has arrived", c->expected[i], c->found[i]);
    }
}

static __int128 word_at(const struct op *op, const unsigned char *words, size_t i)
{
    const struct routine *r = op->routine;
    return load_integer(r->class, r->size, words + i * (size_t)r->size);
}

static int is_met(const struct op *op, size_t i)
{
    const struct waited *w = &op->waited;
    __int128 value = w->values ? word_at(op, w->values, i) : word_at(op, w->common, 0);
    /* The word may change while it is loaded: to one of two values. */
    return compares(w->cmp, word_at(op, w->words, i), value);
}

/* An element that a routine says has met the condition: it must be waited for, and have. */
static void met(struct op *op, size_t i, int *left)
{
    struct waited *w = &op->waited;
    if (i >= (size_t)w->count || w->status[i] != 0 || !is_met(op, i))
        differs(op->number, "%s: element %zd of %d does not meet the condition, or is not waited for",
                op->routine->name, (ssize_t)i, w->count);
    w->status[i] = 1;
    (*left)--;
}

/* Waits until all the words meet the condition, by the routine drawn. */
static void wait_for(struct op *op)
{
    struct waited *w = &op->waited;
    struct arguments *a = &op->a;
    size_t indices[8];
    int left = 0;
    for (int i = 0; i < w->count; i++)
        left += w->status[i] == 0;
    a->indices = indices;
    for (long tries = 0;; tries++) {
        a->code = -1;
        a->index = SIZE_MAX - 1;
        op->routine->call(a);
        switch (op->routine->kind) {
        case KIND_WAIT_UNTIL:
        case KIND_WAIT:
        case KIND_WAIT_UNTIL_ALL:
        case KIND_WAIT_UNTIL_ALL_VECTOR:
        case KIND_SIGNAL_WAIT_UNTIL:
            left = 0;
            break;
        case KIND_TEST:
        case KIND_TEST_ALL:
        case KIND_TEST_ALL_VECTOR:
            if (a->code != 0 && a->code != 1)
                differs(op->number, "%s: returns %d", op->routine->name, a->code);
            if (a->code == 1)
                left = 0;
            break;
        case KIND_SIGNAL_FETCH:
            if (memcmp(a->result, w->after, 8) == 0)
                left = 0;
            else if (memcmp(a->result, w->before, 8) != 0)
                differs(op->number, "%s: a value that the signal never has", op->routine->name);
            break;
        case KIND_WAIT_UNTIL_ANY:
        case KIND_WAIT_UNTIL_ANY_VECTOR:
        case KIND_TEST_ANY:
        case KIND_TEST_ANY_VECTOR:
            if (a->index != SIZE_MAX)
                met(op, a->index, &left);
            else if (left != 0 && op->routine->kind != KIND_TEST_ANY
                     && op->routine->kind != KIND_TEST_ANY_VECTOR)
                differs(op->number, "%s: says that there is nothing to wait for", op->routine->name);
            break;
        default: /* some */
            if (a->index > (size_t)w->count)
                differs(op->number, "%s: %zd elements of %d", op->routine->name,
                        (ssize_t)a->index, w->count);
            if (a->index == 0 && left != 0 && (op->routine->kind == KIND_WAIT_UNTIL_SOME
                || op->routine->kind == KIND_WAIT_UNTIL_SOME_VECTOR))
                differs(op->number, "%s: says that there is nothing to wait for", op->routine->name);
            for (size_t i = 0; i < a->index; i++)
                met(op, indices[i], &left);
        }
        if (left == 0)
            break;
        /* A look at a signal is no wait: collectives and messages that have begun do not go on. */
        if (op->routine->kind == KIND_SIGNAL_FETCH) {
            (shmemx_req_testany)(0, NULL);
            (shmemx_msg_iprobe)(SHMEM_TEAM_WORLD, SHMEMX_ANY_SOURCE, INT_MAX, NULL);
        }
        if (tries % 64 == 63)
            pause_for(50);
    }
    size_t bytes = (size_t)w->count * (size_t)op->routine->size;
    for (size_t i = 0; i < bytes; i++)
        if (w->words[i] != w->after[i])
            differs(op->number, "%s: byte %zu of the words that it waited for: expected %02x, found %02x",
                    op->routine->name, i, w->after[i], w->words[i]);
    if (op->routine->kind == KIND_SIGNAL_WAIT_UNTIL && memcmp(a->result, w->after, 8) != 0)
        differs(op->number, "%s: returns another value than the signal's", op->routine->name);
}

/* Of non-blocking collectives. */
static void begin(const struct op *op);
static void end(const struct op *op);
static int call_by_request(const struct op *op);
/* A reduction in another form than its routine's. */
static void reduce(const struct op *op);
/* Of messages. */
static void post(const struct op *op);
static void end_postings(const struct op *op);

static void act(struct op *op)
{
    switch (op->action) {
    case CALL:
        if (!call_by_request(op))
            op->routine->call(&op->a);
        if (op->a.code != 0)
            differs(op->number, "%s: returns %d", op->routine->name, op->a.code);
        break;
    case STORE:
        memcpy(op->to, op->from, op->bytes);
        break;
    case STORE_DIRECTLY: {
        void *direct = F(shmem_ptr)(op->to, op->a.pe);
        if (direct != NULL)
            memcpy(direct, op->from, op->bytes);
        else
            F(shmem_putmem)(op->to, op->from, op->bytes, op->a.pe);
        break;
    }
    case WAIT:
        wait_for(op);
        break;
    case PAUSE:
        pause_for(op->microseconds);
        break;
    case NOTHING:
        break;
    case REDUCE:
        reduce(op);
        break;
    case BEGIN:
        begin(op);
        break;
    case END:
        end(op);
        break;
    case POST:
        post(op);
        break;
    case END_POSTINGS:
        end_postings(op);
        break;
    }
}

/* Whether every operation is printed before it is performed. */
static int tracing;

/* Where an address is, as text: an area's number and an offset in it. */
static const char *place_of(char *text, size_t room, const void *p)
{
    const unsigned char *at = p;
    for (int i = 0; i < area_count; i++)
        if (areas[i].base <= at && at < areas[i].base + areas[i].bytes) {
            snprintf(text, room, "%d:%zu", i, (size_t)(at - areas[i].base));
            return text;
        }
    return p == NULL ? "none" : "private";
}

static void trace(const struct op *op, int thread)
{
    static const char *const names[] = {"", "store", "store by shmem_ptr", "wait by ",
                                        "pause", "look", "begin ", "end", "another form of ",
                                        "send or receive", "end sends and receives"};
    char dest[40], source[40];
    const struct arguments *a = &op->a;
    fprintf(stderr,
            "%d.%d: PE %d thread %d: %s%s dest %s source %s nelems %zu dst %td sst %td blocks %zu of %zu pe %d "
            "root %d set %d %d %d deferred %d completes %x bytes %zu\n",
            step, op->number, me, thread, names[op->action], op->routine ? op->routine->name : "",
            place_of(dest, sizeof dest, a->sig_addr && !a->dest ? a->sig_addr : op->to ? op->to : a->dest),
            place_of(source, sizeof source, a->source ? a->source : op->check.found), a->nelems, a->dst, a->sst,
            a->nblocks, a->bsize, a->pe, a->PE_root, a->PE_start, a->logPE_stride, a->PE_size, op->deferred,
            op->completes, op->bytes + op->check.bytes);
}

static void *perform(void *argument)
{
    int thread = (int)(intptr_t)argument;
    struct op *waiting = NULL, **end = &waiting;
    for (struct op *op = lists[thread].first, *following; op != NULL; op = following) {
        following = op->following;
        if (tracing)
            trace(op, thread);
        act(op);
        if (op->routine != NULL && op->action != BEGIN && op->action != REDUCE)
            called[op->routine - routines] = 1;
        __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
        if (op->deferred < 0) {
            examine(&op->check);
        } else {
            *end = op;
            op->following = NULL;
            end = &op->following;
        }
        if (op->completes == 0)
            continue;
        struct op **at = &waiting;
        while (*at != NULL) {
            if (op->completes >> (*at)->deferred & 1) {
                examine(&(*at)->check);
                *at = (*at)->following;
            } else {
                at = &(*at)->following;
            }
        }
        end = at;
    }
    if (waiting != NULL)
        differs(waiting->number, "the fuzzer has not completed %s", waiting->routine->name);
    return NULL;
}

/* Runs the lists of this PE's threads to their ends. */
static void perform_all(void)
{
    pthread_t ids[MOST_THREADS];
    for (int t = 1; t < threads; t++)
        if (pthread_create(&ids[t], NULL, perform, (void *)(intptr_t)t) != 0)
            differs(0, "cannot start a thread");
    perform(NULL);
    for (int t = 1; t < threads; t++)
        pthread_join(ids[t], NULL);
    memset(lists, 0, sizeof lists);
}

/* The last operation that touched a byte of this PE. */
static const struct claim *toucher_of(const struct area *a, size_t at)
{
    const struct claims *claims = &a->claims[me];
    for (int i = claims->count - 1; i >= 0; i--)
        if (claims->all[i].low <= at && at < claims->all[i].high && claims->all[i].access != READ)
            return &claims->all[i];
    return NULL;
}

static void compare_elements(void)
{
    for (int i = 0; i < apart_count; i++) {
        struct apart *e = &aparts[i];
        unsigned char *found = e->area->base + e->at, *expected = model(e->area, me, e->at);
        int same = e->by_value ? same_element(e->class, e->size, found, expected)
                               : memcmp(found, expected, LONG_DOUBLE_BYTES) == 0;
        if (!same) {
            size_t byte = 0;
            while (byte + 1 < (size_t)e->size && found[byte] == expected[byte])
                byte++;
            differs(e->op, "%s: offset %zu of %s: expected %02x, found %02x", e->routine->name,
                    e->at + byte, e->area->name, expected[byte], found[byte]);
        }
        memcpy(found, expected, (size_t)e->size);
    }
    apart_count = 0;
}

/* Whether an operation of another node on a PE that fails may have been in time. */
static int is_open(const struct area *a, int pe, size_t at)
{
    for (int i = 0; (dying & bit(pe)) && i < a->claims[pe].count; i++) {
        const struct claim *c = &a->claims[pe].all[i];
        if (c->low <= at && at < c->high && c->access != READ && !reaches(c->by, pe))
            return 1;
    }
    return 0;
}

/* The same for the memory of a PE that is lost, which one that is left reads. */
static void compare_lost(const struct area *a, int pe)
{
    unsigned char *found = checked(malloc(a->bytes)), *expected = model(a, pe, 0);
    F(shmem_getmem)(found, a->base, a->bytes, pe);
    for (size_t at = 0; at < a->bytes; at++)
        if (found[at] != expected[at] && !is_open(a, pe, at))
            differs(0, "offset %zu of %s of PE %d, which is lost: expected %02x, found %02x", at, a->name, pe,
                    expected[at], found[at]);
    if (dying & bit(pe))
        F(shmem_putmem)(a->base, expected, a->bytes, pe);
    compared += (long long)a->bytes;
    free(found);
}

/* Compares all symmetric memory of this PE with the model's, byte by byte. */
static void compare_memory(void)
{
    compare_elements();
    for (int i = 0; i < area_count; i++)
        for (int pe = 0; pe < n; pe++)
            if (acts_for(pe))
                compare_lost(&areas[i], pe);
    for (int i = 0; i < area_count; i++) {
        struct area *a = &areas[i];
        const unsigned char *expected = model(a, me, 0);
        compared += (long long)a->bytes;
        if (memcmp(a->base, expected, a->bytes) == 0)
            continue;
        size_t at = 0;
        while (a->base[at] == expected[at])
            at++;
        const struct claim *c = toucher_of(a, at);
        if (c == NULL)
            differs(0, "offset %zu of %s, which no operation touches: expected %02x, found %02x", at,
                    a->name, expected[at], a->base[at]);
        differs(c->op, "%s by PE %d: offset %zu of %s: expected %02x, found %02x",
                c->routine ? c->routine->name : "store", c->by, at, a->name, expected[at],
                a->base[at]);
    }
}

#endif
