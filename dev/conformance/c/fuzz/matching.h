/* Sends and receives that are matched by team, source and tag. Some are begun, and ended later in the same phase. */
#ifndef FUZZ_MATCHING_H
#define FUZZ_MATCHING_H

#include "one_sided.h"

/* Requests that a thread has at a time; messages that one thread sends to another in a row; bytes of one. */
enum { MOST_POSTED = 24, MOST_ENDED_AT_ONCE = 6, MOST_IN_A_ROW = 4, MOST_SENT = 100000 };

/* How a message is sent or received, or that a receive is given up. */
enum way { AT_ONCE, BY_REQUEST, PROBED, POLLED, GIVEN_UP };

/* A send or a receive on its PE. */
struct posting {
    enum way way;
    int is_send, peer, tag, source; /* `peer` may be any */
    shmem_team_t team;
    unsigned char *buffer;
    size_t sent, room;
    shmemx_msg_request_t request;
    struct check check;
};

/* How many requests a thread of a PE has drawn and not ended; and those of this PE. */
static int posted_count[MOST_PES][MOST_THREADS];
static struct posting *posted[MOST_THREADS][MOST_POSTED];

static int error_of(const struct posting *p)
{
    return !p->is_send && p->sent > p->room ? SHMEMX_MSG_TRUNCATED : 0;
}

/* A message is there, of which a receive or a probe says so. */
static void arrives(const struct op *op, const struct posting *p, const shmemx_msg_status_t *s, int error)
{
    if (!p->is_send && (s->source != p->source || s->tag != p->tag || s->nbytes != p->sent || s->error != error))
        differs(op->number, "a message from %d with tag %d of %zu bytes, error %d, and not from %d with %d of %zu, %d",
                s->source, s->tag, s->nbytes, s->error, p->source, p->tag, p->sent, error);
    if (error == error_of(p))
        examine(&p->check);
}

static void post(const struct op *op)
{
    struct posting *p = op->posted[0];
    shmemx_msg_status_t s = {-3, -3, 0, -3};
    int code = 0;
    switch (p->way) {
    case BY_REQUEST:
        code = p->is_send ? F(shmemx_msg_isend)(p->team, p->buffer, p->sent, p->peer, p->tag, &p->request)
                          : F(shmemx_msg_irecv)(p->team, p->buffer, p->room, p->peer, p->tag, &p->request);
        break;
    case GIVEN_UP:
        F(shmemx_msg_irecv)(p->team, p->buffer, p->room, p->peer, p->tag, &p->request);
        code = F(shmemx_msg_test)(&p->request, &s);
        if (F(shmemx_msg_cancel)(&p->request) != 1 || p->request != SHMEMX_MSG_REQUEST_INVALID)
            differs(op->number, "a receive has a message that no PE sends");
        examine(&p->check);
        break;
    case PROBED:
    case POLLED:
        if (p->way == PROBED)
            code = F(shmemx_msg_probe)(p->team, p->peer, p->tag, &s);
        for (long tries = 1; p->way == POLLED && !F(shmemx_msg_iprobe)(p->team, p->peer, p->tag, &s); tries++)
            if (tries % 64 == 0)
                pause_for(50);
        if (code != 0 || s.source != p->source || s.tag != p->tag || s.nbytes != p->sent)
            differs(op->number, "finds a message from %d with tag %d of %zu bytes, and not from %d with %d of %zu",
                    s.source, s.tag, s.nbytes, p->source, p->tag, p->sent);
        /* fall through */
    default:
        code = p->is_send ? F(shmemx_msg_send)(p->team, p->buffer, p->sent, p->peer, p->tag)
                          : F(shmemx_msg_recv)(p->team, p->buffer, p->room, p->peer, p->tag, &s);
        arrives(op, p, &s, code);
    }
    if (code != (p->way == BY_REQUEST ? 0 : error_of(p)))
        differs(op->number, "a %s: returns %d", p->is_send ? "send" : "receive", code);
}

/* Ends requests, in one of the ways that there are. */
static void end_postings(const struct op *op)
{
    shmemx_msg_request_t requests[MOST_ENDED_AT_ONCE];
    shmemx_msg_status_t statuses[MOST_ENDED_AT_ONCE];
    size_t count = (size_t)op->ended, left = count;
    int worst = 0, code = 0;
    for (size_t i = 0; i < count; i++) {
        requests[i] = op->posted[i]->request;
        worst |= error_of(op->posted[i]);
    }
    for (long tries = 1; left > 0; tries++) {
        size_t index = SIZE_MAX;
        shmemx_msg_status_t s;
        switch (op->way) {
        case 0:
            code = F(shmemx_msg_waitall)(count, requests, statuses);
            if (code != worst)
                differs(op->number, "shmemx_msg_waitall: returns %d", code);
            index = count;
            break;
        case 1:
            if (F(shmemx_msg_testall)(count, requests, statuses) != 0)
                index = count;
            break;
        case 2:
            index = F(shmemx_msg_waitany)(count, requests, &s);
            if (index >= count)
                differs(op->number, "shmemx_msg_waitany: index %zu of %zu", index, count);
            break;
        case 3:
            index = F(shmemx_msg_testany)(count, requests, &s);
            break;
        case 4:
            if (F(shmemx_msg_test)(&requests[left - 1], &s) != 0)
                index = left - 1;
            break;
        default:
            code = F(shmemx_msg_wait)(&requests[left - 1], &s);
            index = left - 1;
            if (code != error_of(op->posted[index]))
                differs(op->number, "shmemx_msg_wait: returns %d", code);
        }
        if (index == count) {
            for (; left > 0; left--)
                arrives(op, op->posted[left - 1], &statuses[left - 1], error_of(op->posted[left - 1]));
        } else if (index != SIZE_MAX) {
            arrives(op, op->posted[index], &s, error_of(op->posted[index]));
            left--;
        }
        if (tries % 64 == 0)
            pause_for(50);
    }
    for (size_t i = 0; i < count; i++)
        if (requests[i] != SHMEMX_MSG_REQUEST_INVALID)
            differs(op->number, "request %zu of %zu messages has not ended", i, count);
}

static size_t draw_length(struct rng *rng)
{
    static const int lengths[] = {0, 8, 32, 33, 250, 3000, 8192, 8193, 20000, MOST_SENT};
    int length = lengths[below(rng, 10)];
    return (size_t)(once_in(rng, 2) ? length : below(rng, length + 1));
}

/* Symmetric memory for one end of a message, or NULL: private memory. */
static struct area *draw_end_of(struct rng *rng, int pe, int thread, size_t bytes, int later, enum access access,
                                size_t *at, int number)
{
    struct area *a = draw_area(rng);
    struct toucher t = {bit(pe), pe, thread, 0, 0, access};
    if (bytes == 0 || bytes > a->bytes || once_in(rng, 3))
        return NULL;
    *at = draw_offset(rng, a, bytes, BYTES, 8);
    if (!may_touch(a, pe, *at, *at + bytes, &t))
        return NULL;
    if (later)
        t.pes = 0;
    touch(a, pe, *at, *at + bytes, &t, NULL, number)->complete = 1;
    return a;
}

/* An operation for one end of a message, if that is this PE. */
static struct posting *append_posting(int pe, int thread, const struct posting *like, int number)
{
    int place = like->way == BY_REQUEST ? posted_count[pe][thread]++ : 0;
    struct op *op = append(pe, thread, POST, NULL, number);
    if (op == NULL)
        return NULL;
    struct posting *p = memcpy(take(sizeof *p), like, sizeof *p);
    op->posted = memcpy(take(sizeof p), &p, sizeof p);
    p->check.number = number;
    if (like->way == BY_REQUEST)
        posted[thread][place] = p;
    return p;
}

static void draw_sent_message(struct rng *rng, const struct team *t, struct posting send, struct posting receive,
                              int from_thread, int to_thread, int number)
{
    int from = t->pes[send.source], to = t->pes[send.peer];
    size_t bytes = draw_length(rng), at = 0, room = once_in(rng, 6) ? (size_t)below(rng, (int)bytes + 1) : bytes;
    size_t got = room;
    if (room == bytes && once_in(rng, 6))
        room += (size_t)below(rng, 100);
    send.sent = receive.sent = bytes;
    receive.room = room;
    struct area *a = draw_end_of(rng, from, from_thread, bytes, send.way == BY_REQUEST, READ, &at, number);
    unsigned char *data = a ? model(a, from, at) : take(bytes);
    if (a == NULL)
        random_bytes(rng, data, bytes);
    struct posting *p = append_posting(from, from_thread, &send, number);
    if (p != NULL && a != NULL)
        p->buffer = a->base + at;
    if (p != NULL && a == NULL) {
        p->buffer = memcpy(private_memory(bytes), data, bytes);
        p->check.scribble = p->buffer;
        p->check.scribbled = bytes;
    }
    /* What a PE sends to itself is symmetric at one end at most: the two must not overlap. */
    struct area *b = a != NULL && from == to ? NULL
                                             : draw_end_of(rng, to, to_thread, got, receive.way == BY_REQUEST, WRITE,
                                                           &at, number);
    p = append_posting(to, to_thread, &receive, number);
    unsigned char *expected = p == NULL ? NULL : private_memory(room);
    if (p != NULL) {
        memcpy(expected, data, got);
        p->buffer = b ? b->base + at : private_memory(room);
        /* The bytes behind a symmetric one are not to be touched. */
        p->room = b ? got : room;
        p->check.found = b ? p->buffer : p->buffer - GUARD;
        p->check.expected = b ? expected : expected - GUARD;
        p->check.bytes = b ? got : room + 2 * GUARD;
        p->check.guard = b ? 0 : GUARD;
    }
    if (b != NULL)
        memcpy(model(b, to, at), data, got);
}

/* Some messages of one tag from a thread to another, in a row; or a receive that is given up. */
static void draw_sends(struct rng *rng, int number)
{
    const struct team *t = &teams[draw_team(rng)];
    if (t->mask & lost)
        return;
    int source = below(rng, t->size), dest = below(rng, t->size), count = between(rng, 1, MOST_IN_A_ROW);
    int from = t->pes[source], to = t->pes[dest], from_thread = below(rng, threads), to_thread = below(rng, threads);
    /* A thread that waited for itself would do so for ever. */
    int alone = from == to && from_thread == to_thread;
    struct posting send = {.is_send = 1, .peer = dest, .source = source, .team = t->handle};
    struct posting receive = {.source = source, .team = t->handle};
    send.tag = receive.tag = once_in(rng, 3) ? INT_MAX - number : number;
    receive.peer = once_in(rng, 2) ? source : SHMEMX_ANY_SOURCE;
    if (once_in(rng, 10)) {
        receive.way = GIVEN_UP;
        struct posting *p = append_posting(to, to_thread, &receive, number);
        if (p != NULL) {
            p->buffer = private_memory(p->room = 100);
            p->check.found = p->buffer;
            p->check.expected = private_memory(100);
            p->check.bytes = 100;
        }
        return;
    }
    while (count-- > 0) {
        int room = posted_count[from][from_thread] < MOST_POSTED;
        send.way = room && (alone || once_in(rng, 2)) ? BY_REQUEST : AT_ONCE;
        if (alone && !room)
            return;
        receive.way = (enum way)below(rng, 4);
        if (receive.way == BY_REQUEST && posted_count[to][to_thread] + 1 >= MOST_POSTED)
            receive.way = AT_ONCE;
        draw_sent_message(rng, t, send, receive, from_thread, to_thread, number);
    }
}

/* Ends some of the requests of a thread of a PE, in any order. */
static void draw_end_of_postings(struct rng *rng, int pe, int thread, int number)
{
    int *count = &posted_count[pe][thread];
    int ended = between(rng, 1, *count < MOST_ENDED_AT_ONCE ? *count : MOST_ENDED_AT_ONCE), way = below(rng, 6);
    struct op *op = append(pe, thread, END_POSTINGS, NULL, number);
    if (op != NULL) {
        op->posted = take((size_t)ended * sizeof *op->posted);
        op->ended = ended;
        op->way = way;
    }
    draw_some(rng, posted[thread], count, ended, op != NULL ? op->posted : NULL);
}

#endif
