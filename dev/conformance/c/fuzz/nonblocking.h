/* Non-blocking collectives: begun in the lists of all members, and ended in any order later in the same phase. */
#ifndef FUZZ_NONBLOCKING_H
#define FUZZ_NONBLOCKING_H

#include "draw.h"

/* Requests that a thread has at a time, and that one call ends. */
enum { MOST_BEGUN = 64, MOST_ENDED = 4 };

/* A collective that has begun, on one member: its request, and what its dest is to be. */
struct begun {
    shmemx_req_h request;
    int persists;
    struct check check;
};

/* How many a thread of a PE has drawn and not ended; and those of this PE. */
static int begun_count[MOST_PES][MOST_THREADS];
static struct begun *begun[MOST_THREADS][MOST_BEGUN];

static int datatype_of(const struct routine *r, enum elements elements)
{
    if (elements != PLAIN)
        return elements == HALVES         ? SHMEMX_FLOATING + 2
               : elements == BRAIN_HALVES ? SHMEMX_BFLOAT + 2
               : elements == PAIRS        ? SHMEMX_PAIR + SHMEMX_SIGNED + r->size / 2
                                          : SHMEMX_PAIR + SHMEMX_FLOATING + r->size / 2;
    return r->size + (r->class == SIGNED ? SHMEMX_SIGNED
                      : r->class == REAL ? SHMEMX_FLOATING
                      : r->class == COMPLEX ? SHMEMX_COMPLEX
                                            : SHMEMX_UNSIGNED);
}

/* The operator of a reduction, as the non-blocking form takes it; -1: it is none. */
static int nonblocking_operator(enum kind kind)
{
    switch (kind) {
    case KIND_AND_REDUCE:
        return SHMEMX_AND;
    case KIND_OR_REDUCE:
        return SHMEMX_OR;
    case KIND_XOR_REDUCE:
        return SHMEMX_XOR;
    case KIND_MAX_REDUCE:
        return SHMEMX_MAX;
    case KIND_MIN_REDUCE:
        return SHMEMX_MIN;
    case KIND_SUM_REDUCE:
        return SHMEMX_SUM;
    case KIND_PROD_REDUCE:
        return SHMEMX_PROD;
    default:
        return -1;
    }
}

/* The same for elements of another type than the routine's. */
static int typed_operator(enum kind kind, enum elements elements)
{
    int greatest = kind == KIND_MAX_REDUCE;
    return elements >= PAIRS ? (greatest ? SHMEMX_MAXLOC : SHMEMX_MINLOC) : nonblocking_operator(kind);
}

/* Of a reduction: its own routine; to the root; a block to each member; one of another length to each; by an operator
 * of the program, as a scan, too. */
enum form { USUAL, TO_ROOT, TO_EACH, BY_COUNTS, BY_FUNCTION, FORMS };

/* The operator of the program: the element of the last PE, so that its operands may not be swapped. Elements have a
 * size that the function does not get. */
#define LAST(SIZE)                                                                                 \
    static void last_##SIZE(void *dest, const void *a, const void *b, size_t count)               \
    {                                                                                              \
        (void)a;                                                                                   \
        memmove(dest, b, count * SIZE);                                                            \
    }
LAST(1)
LAST(2)
LAST(4)
LAST(8)
LAST(16)

static int last_operator(int size)
{
    int op;
    (shmemx_op_create)(size == 1   ? last_1
                       : size == 2 ? last_2
                       : size == 4 ? last_4
                       : size == 8 ? last_8
                                   : last_16,
                       0, &op);
    return op;
}

static int is_reduction(enum kind kind) { return nonblocking_operator(kind) >= 0; }

static int is_scan(enum kind kind) { return kind == KIND_SUM_INSCAN || kind == KIND_SUM_EXSCAN; }

/* A reduction or scan in another form. */
static void reduce(const struct op *op)
{
    const struct arguments *a = &op->a;
    enum kind kind = op->routine->kind;
    int type = datatype_of(op->routine, a->elements), number = typed_operator(kind, a->elements);
    int size = op->routine->size, status, last;
    if (a->form == TO_ROOT) {
        status = (shmemx_reduce_root)(a->team, a->dest, a->source, a->nelems, type, number, a->PE_root);
    } else if (a->form == TO_EACH) {
        status = (shmemx_reduce_scatter)(a->team, a->dest, a->source, a->nelems, type, number);
    } else if (a->form == BY_COUNTS) {
        status = (shmemx_reduce_scatterv)(a->team, a->dest, a->source, a->counts, type, number);
    } else if (a->form == USUAL && is_scan(kind)) {
        status = (shmemx_op_scan)(a->team, a->dest, a->source, a->nelems, type, SHMEMX_SUM, kind == KIND_SUM_INSCAN);
    } else if (a->form == USUAL) {
        status = (shmemx_reduce)(a->team, a->dest, a->source, a->nelems, type, number);
    } else {
        last = last_operator(size);
        type = SHMEMX_OPAQUE + size;
        status = is_scan(kind) ? (shmemx_op_scan)(a->team, a->dest, a->source, a->nelems, type, last,
                                                  kind == KIND_SUM_INSCAN)
                               : (shmemx_reduce)(a->team, a->dest, a->source, a->nelems, type, last);
        (shmemx_op_free)(&last);
    }
    if (status != 0)
        differs(op->number, "form %d.%d of %s: returns %d", a->form, a->elements, op->routine->name, status);
}

static int has_nonblocking(const struct routine *r)
{
    switch (r->kind) {
    case KIND_TEAM_SYNC:
    case KIND_BROADCAST:
    case KIND_COLLECT:
    case KIND_FCOLLECT:
    case KIND_ALLTOALL:
    case KIND_SUM_INSCAN:
    case KIND_SUM_EXSCAN:
    case KIND_GATHER:
    case KIND_SCATTER:
    case KIND_GATHERV:
    case KIND_SCATTERV:
    case KIND_ALLTOALLV:
        return 1;
    case KIND_ALLTOALLS:
        /* Its strides are between bytes. */
        return r->size == 1;
    default:
        return nonblocking_operator(r->kind) >= 0;
    }
}

typedef int array_form(shmem_team_t, void *, const void *, size_t, shmemx_req_h *);
typedef int root_form(shmem_team_t, void *, const void *, size_t, int, shmemx_req_h *);
typedef int displaced_form(shmem_team_t, void *, const void *, const size_t *, size_t, size_t, int, shmemx_req_h *);
typedef int typed_form(shmem_team_t, void *, const void *, size_t, int, int, shmemx_req_h *);
typedef int typed_form_by(shmem_team_t, void *, const void *, size_t, int, int, int, shmemx_req_h *);

/* What begins a collective, and what makes a request of it. */
static const struct {
    int (*sync)(shmem_team_t, shmemx_req_h *);
    root_form *broadcast, *gather, *scatter;
    displaced_form *gatherv, *scatterv;
    array_form *collect, *fcollect, *alltoall;
    int (*alltoalls)(shmem_team_t, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, shmemx_req_h *);
    int (*alltoallv)(shmem_team_t, void *, const size_t *, const void *, const size_t *, const size_t *, size_t,
                     shmemx_req_h *);
    typed_form *scan, *reduce, *reduce_scatter;
    typed_form_by *op_scan, *reduce_root;
    int (*reduce_scatterv)(shmem_team_t, void *, const void *, const size_t *, int, int, shmemx_req_h *);
} forms[] = {
    {(shmemx_sync_nb), (shmemx_broadcastmem_nb), (shmemx_gathermem_nb), (shmemx_scattermem_nb),
     (shmemx_gathervmem_nb), (shmemx_scattervmem_nb), (shmemx_collectmem_nb), (shmemx_fcollectmem_nb),
     (shmemx_alltoallmem_nb), (shmemx_alltoallsmem_nb), (shmemx_alltoallvmem_nb), (shmemx_scan_nb),
     (shmemx_reduce_nb), (shmemx_reduce_scatter_nb), (shmemx_op_scan_nb), (shmemx_reduce_root_nb),
     (shmemx_reduce_scatterv_nb)},
    {(shmemx_sync_init), (shmemx_broadcastmem_init), (shmemx_gathermem_init), (shmemx_scattermem_init),
     (shmemx_gathervmem_init), (shmemx_scattervmem_init), (shmemx_collectmem_init), (shmemx_fcollectmem_init),
     (shmemx_alltoallmem_init), (shmemx_alltoallsmem_init), (shmemx_alltoallvmem_init), (shmemx_scan_init),
     (shmemx_reduce_init), (shmemx_reduce_scatter_init), (shmemx_op_scan_init), (shmemx_reduce_root_init),
     (shmemx_reduce_scatterv_init)},
};

/* Begins a reduction or scan, in any form. */
static int begin_reduction(const struct op *op, int persists)
{
    const struct arguments *a = &op->a;
    enum kind kind = op->routine->kind;
    shmemx_req_h *request = &op->begun[0]->request;
    int type = datatype_of(op->routine, a->elements), size = op->routine->size, status;
    int number = typed_operator(kind, a->elements);
    switch (a->form) {
    case TO_ROOT:
        return forms[persists].reduce_root(a->team, a->dest, a->source, a->nelems, type, number, a->PE_root, request);
    case TO_EACH:
        return forms[persists].reduce_scatter(a->team, a->dest, a->source, a->nelems, type, number, request);
    case BY_COUNTS:
        return forms[persists].reduce_scatterv(a->team, a->dest, a->source, a->counts, type, number, request);
    case BY_FUNCTION:
        number = last_operator(size);
        type = SHMEMX_OPAQUE + size;
        status = is_scan(kind) ? forms[persists].op_scan(a->team, a->dest, a->source, a->nelems, type, number,
                                                         kind == KIND_SUM_INSCAN, request)
                               : forms[persists].reduce(a->team, a->dest, a->source, a->nelems, type, number, request);
        /* Those that have begun go on with it. */
        (shmemx_op_free)(&number);
        return status;
    default:
        if (is_scan(kind))
            return forms[persists].scan(a->team, a->dest, a->source, a->nelems, type, kind == KIND_SUM_INSCAN,
                                        request);
        return forms[persists].reduce(a->team, a->dest, a->source, a->nelems, type, number, request);
    }
}

/* Begins what a routine that waits does; every second one by a request that persists. */
static void begin(const struct op *op)
{
    const struct routine *r = op->routine;
    const struct arguments *a = &op->a;
    shmemx_req_h *request = &op->begun[0]->request;
    size_t bytes = a->nelems * (size_t)r->size;
    int status, persists = op->number % 2;
    switch (r->kind) {
    case KIND_TEAM_SYNC:
        status = forms[persists].sync(a->team, request);
        break;
    case KIND_BROADCAST:
        status = forms[persists].broadcast(a->team, a->dest, a->source, bytes, a->PE_root, request);
        break;
    case KIND_COLLECT:
        status = forms[persists].collect(a->team, a->dest, a->source, bytes, request);
        break;
    case KIND_FCOLLECT:
        status = forms[persists].fcollect(a->team, a->dest, a->source, bytes, request);
        break;
    case KIND_ALLTOALL:
        status = forms[persists].alltoall(a->team, a->dest, a->source, bytes, request);
        break;
    case KIND_ALLTOALLS:
        status = forms[persists].alltoalls(a->team, a->dest, a->source, a->dst, a->sst, bytes, request);
        break;
    case KIND_GATHER:
        status = forms[persists].gather(a->team, a->dest, a->source, bytes, a->PE_root, request);
        break;
    case KIND_SCATTER:
        status = forms[persists].scatter(a->team, a->dest, a->source, bytes, a->PE_root, request);
        break;
    case KIND_GATHERV:
        status = forms[persists].gatherv(a->team, a->dest, a->source, a->displs, a->nelems, a->size, a->PE_root,
                                         request);
        break;
    case KIND_SCATTERV:
        status = forms[persists].scatterv(a->team, a->dest, a->source, a->displs, a->nelems, a->size, a->PE_root,
                                          request);
        break;
    case KIND_ALLTOALLV:
        status = forms[persists].alltoallv(a->team, a->dest, a->dest_displs, a->source, a->source_displs, a->counts,
                                           a->size, request);
        break;
    default:
        status = begin_reduction(op, persists);
    }
    if (status != 0)
        differs(op->number, "the non-blocking form of %s: returns %d", r->name, status);
    if (persists && op->number % 4 == 1)
        (shmemx_req_start)(request);
    else if (persists)
        (shmemx_req_startall)(1, request);
    op->begun[0]->persists = persists;
}

/* Ends requests, in one of the ways that there are. */
static void end(const struct op *op)
{
    shmemx_req_h requests[MOST_ENDED];
    size_t count = (size_t)op->ended, left = count;
    for (size_t i = 0; i < count; i++)
        requests[i] = op->begun[i]->request;
    for (long tries = 1; left > 0; tries++) {
        size_t index = SIZE_MAX;
        switch (op->way) {
        case 0:
            if ((shmemx_req_waitall)(count, requests) == 0)
                left = 0;
            break;
        case 1:
            if ((shmemx_req_testall)(count, requests) == 0)
                left = 0;
            break;
        case 2:
            index = (shmemx_req_waitany)(count, requests);
            if (index >= count)
                differs(op->number, "shmemx_req_waitany: index %zu of %zu", index, count);
            break;
        case 3:
            index = (shmemx_req_testany)(count, requests);
            break;
        case 4:
            if ((shmemx_req_test)(&requests[left - 1]) == 0)
                index = left - 1;
            break;
        default:
            (shmemx_req_wait)(&requests[left - 1]);
            index = left - 1;
        }
        if (index != SIZE_MAX) {
            examine(&op->begun[index]->check);
            left--;
        }
        if (tries % 64 == 0)
            pause_for(50);
    }
    for (size_t i = 0; i < count; i++) {
        if ((requests[i] != SHMEMX_REQ_INVALID) != op->begun[i]->persists)
            differs(op->number, "request %zu of %zu has not ended", i, count);
        (shmemx_req_free)(&requests[i]);
        examine(&op->begun[i]->check);
    }
}

/* Signals of PEs whose memory was read, and of this PE's results; how many each is to have. */
static uint64_t read_signal, result_signal;
static long signals_to[MOST_PES], results;

static void get_with_signal(const struct op *op, size_t bytes, shmemx_req_h *request)
{
    const struct arguments *a = &op->a;
    const struct routine *r = op->routine;
    shmem_team_t team;
    int pe = a->pe, add = SHMEM_SIGNAL_ADD, waits = completes_at_once(r, op->number);
    *request = SHMEMX_REQ_INVALID;
    if (r->has_ctx && (shmem_ctx_get_team)(a->ctx, &team) == 0)
        pe = (shmem_team_translate_pe)(team, a->pe, SHMEM_TEAM_WORLD);
    if (r->has_ctx && waits)
        (shmemx_ctx_getmem_signal)(a->ctx, a->dest, a->source, bytes, &read_signal, 1, add, a->pe);
    else if (r->has_ctx)
        (shmemx_ctx_getmem_signal_nb)(a->ctx, a->dest, a->source, bytes, &read_signal, 1, add, a->pe, request);
    else if (waits)
        (shmemx_getmem_signal)(a->dest, a->source, bytes, &read_signal, 1, add, a->pe);
    else
        (shmemx_getmem_signal_nb)(a->dest, a->source, bytes, &read_signal, 1, add, a->pe, request);
    __atomic_fetch_add(&signals_to[pe], 1, __ATOMIC_RELAXED);
}

/* Performs every second non-blocking put, get and fetch by a request: one that is complete on return, or that is
 * freed, so that a quiet completes the operation; some with a signal, or with a quiet that has a request. Whether it
 * has. */
static int call_by_request(const struct op *op)
{
    const struct arguments *a = &op->a;
    const struct routine *r = op->routine;
    size_t bytes = a->nelems * (size_t)r->size;
    shmemx_req_h request;
    int fetch = requested_operator(r), type = (r->class == SIGNED ? SHMEMX_SIGNED : SHMEMX_UNSIGNED) + r->size;
    int by_signal = op->number % 8 > 3;
    if (op->number % 4 > 1 || !(is_nbi(r->kind) || fetch >= 0))
        return 0;
    if (fetch >= 0) {
        uint64_t value = 0, cond = 0;
        memcpy(&value, a->value, (size_t)r->size);
        memcpy(&cond, a->cond, (size_t)r->size);
        if (by_signal) {
            if (r->has_ctx)
                (shmemx_ctx_atomic_fetch_op_signal)(a->ctx, a->fetch, a->dest, value, cond, type, fetch,
                                                    &result_signal, 1, SHMEM_SIGNAL_ADD, a->pe);
            else
                (shmemx_atomic_fetch_op_signal)(a->fetch, a->dest, value, cond, type, fetch, &result_signal, 1,
                                                SHMEM_SIGNAL_ADD, a->pe);
            __atomic_fetch_add(&results, 1, __ATOMIC_RELAXED);
            request = SHMEMX_REQ_INVALID;
        } else if (r->has_ctx)
            (shmemx_ctx_atomic_fetch_op_nb)(a->ctx, a->fetch, a->dest, value, cond, type, fetch, a->pe, &request);
        else
            (shmemx_atomic_fetch_op_nb)(a->fetch, a->dest, value, cond, type, fetch, a->pe, &request);
    } else if (r->has_ctx && r->kind == KIND_PUT_NBI)
        (shmemx_ctx_putmem_nb)(a->ctx, a->dest, a->source, bytes, a->pe, &request);
    else if (r->kind != KIND_PUT_NBI && by_signal)
        get_with_signal(op, bytes, &request);
    else if (r->has_ctx)
        (shmemx_ctx_getmem_nb)(a->ctx, a->dest, a->source, bytes, a->pe, &request);
    else if (r->kind == KIND_PUT_NBI)
        (shmemx_putmem_nb)(a->dest, a->source, bytes, a->pe, &request);
    else
        (shmemx_getmem_nb)(a->dest, a->source, bytes, a->pe, &request);
    if (!completes_at_once(r, op->number)) {
        (shmemx_req_free)(&request);
        return 1;
    }
    if (by_signal && r->has_ctx)
        (shmemx_ctx_quiet_nb)(a->ctx, &request);
    else if (by_signal)
        (shmemx_quiet_nb)(&request);
    (shmemx_req_wait)(&request);
    return 1;
}

/* After a barrier: each PE's signals say how often it was read, and how many results it has had. */
static void check_signals(void)
{
    long signals = 0;
    int known = 1;
    for (int pe = 0; pe < n; pe++) {
        signals += (shmem_long_g)(&signals_to[me], pe);
        known &= reaches(me, pe);
    }
    if (known && read_signal != (uint64_t)signals)
        differs(0, "%d signals of gets, and not %ld", (int)read_signal, signals);
    if (result_signal != (uint64_t)results)
        differs(0, "%d signals of results, and not %ld", (int)result_signal, results);
}

/* Ends some of the requests of a thread of a PE, in any order. */
static void draw_end(struct rng *rng, int pe, int thread, int number)
{
    int *count = &begun_count[pe][thread];
    int ended = between(rng, 1, *count < MOST_ENDED ? *count : MOST_ENDED), way = below(rng, 6);
    struct op *op = append(pe, thread, END, NULL, number);
    if (op != NULL) {
        op->begun = take((size_t)ended * sizeof *op->begun);
        op->ended = ended;
        op->way = way;
    }
    draw_some(rng, begun[thread], count, ended, op != NULL ? op->begun : NULL);
}

#endif
