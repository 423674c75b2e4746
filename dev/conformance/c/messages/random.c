/* Random sends, receives, probes and cancels, compared with MPI's rules of matching.
 *
 * Alone, a PE sends to itself: what each receive takes is compared with a model. Together, each PE notes what its
 * receives took and when, and finds no two of them in the wrong order.
 *
 * Argument: the seed; or "refused", where PEs may not read each other's memory, or "later", where they no longer may
 * after a first message. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <shmemx.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

enum {
    STEPS = REPEAT(20000, 2000),
    ALL = REPEAT(1600, 400), /* messages of a PE, together */
    OPEN = 48,               /* requests at a time */
    TAGS = 4,
    LONGEST = 70000,
    MAX_LOG = 4 * ALL,
};

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

static size_t draw_length(void)
{
    static const size_t lengths[] = {0, 8, 40, 250, 3000, 8192, 8193, 20000, 40000, LONGEST};
    size_t length = lengths[draw(sizeof lengths / sizeof *lengths)];
    return draw(2) || length == 0 ? length : draw((uint32_t)length + 1);
}

/* What a message says of itself, in as many of its bytes as there are. */
struct identity {
    int source, number, tag;
};

static unsigned char byte_of(const struct identity *m, size_t i)
{
    return (unsigned char)(m->source * 89 + m->number * 7 + m->tag + (int)(i * 13 + i / 256));
}

static void fill(unsigned char *buffer, size_t length, const struct identity *m)
{
    for (size_t i = 0; i < length; i++)
        buffer[i] = byte_of(m, i);
}

static void verify(const unsigned char *buffer, size_t length, const struct identity *m)
{
    for (size_t i = 0; i < length; i++)
        if (buffer[i] != byte_of(m, i)) {
            CHECK(0, "byte %zu of %zu of message %d of PE %d", i, length, m->number, m->source);
            return;
        }
}

/* ---- Alone ---- */

struct message {
    struct identity identity;
    size_t length;
    int is_taken;
};

struct receive {
    shmemx_msg_request_t request;
    unsigned char *buffer;
    size_t room;
    int source, tag;
    int message; /* which the model gives it; -1: none yet */
};

static struct message *messages;
static int n_messages;
static struct receive receives[OPEN];
static int order[OPEN], n_posted; /* receives without a message, in their order */

static int takes(int source, int tag, const struct identity *m)
{
    return (source == SHMEMX_ANY_SOURCE || source == m->source)
           && (tag == SHMEMX_ANY_TAG || tag == m->tag);
}

/* The first message that was not taken and is taken so, or -1. */
static int first_message(int source, int tag)
{
    for (int i = 0; i < n_messages; i++)
        if (!messages[i].is_taken && takes(source, tag, &messages[i].identity))
            return i;
    return -1;
}

static void unpost(int slot)
{
    int kept = 0;
    for (int i = 0; i < n_posted; i++)
        if (order[i] != slot)
            order[kept++] = order[i];
    n_posted = kept;
}

static void verify_received(const struct receive *r, const shmemx_msg_status_t *s)
{
    const struct message *m = &messages[r->message];
    int error = m->length > r->room ? SHMEMX_MSG_TRUNCATED : 0;
    CHECK(s->source == m->identity.source && s->tag == m->identity.tag && s->nbytes == m->length
              && s->error == error,
          "source %d tag %d bytes %zu error %d, not message %d of %zu bytes", s->source, s->tag,
          s->nbytes, s->error, m->identity.number, m->length);
    verify(r->buffer, m->length < r->room ? m->length : r->room, &m->identity);
}

static void alone(void)
{
    int me = shmem_my_pe();
    messages = calloc(STEPS, sizeof *messages);
    struct {
        shmemx_msg_request_t request;
        unsigned char *buffer;
    } sends[OPEN];
    unsigned char *heap = checked_malloc((size_t)OPEN * 2 * LONGEST);
    for (int i = 0; i < OPEN; i++) {
        /* Symmetric memory, and the PE's own. */
        sends[i].request = receives[i].request = SHMEMX_MSG_REQUEST_INVALID;
        sends[i].buffer = i % 2 ? heap + (size_t)i * LONGEST : malloc(LONGEST);
        receives[i].buffer = i % 3 ? heap + (size_t)(OPEN + i) * LONGEST : malloc(LONGEST);
    }
    for (int step = 0; step < STEPS; step++) {
        int slot = (int)draw(OPEN);
        struct receive *r = &receives[slot];
        int source = draw(2) ? me : SHMEMX_ANY_SOURCE;
        int tag = draw(3) ? (int)draw(TAGS) : SHMEMX_ANY_TAG;
        shmemx_msg_status_t s;
        switch (draw(6)) {
        case 0:
        case 1: /* send */
            if (sends[slot].request != SHMEMX_MSG_REQUEST_INVALID
                && !shmemx_msg_test(&sends[slot].request, NULL))
                break;
            struct message *m = &messages[n_messages];
            m->identity = (struct identity){me, n_messages, (int)draw(TAGS)};
            m->length = draw_length();
            fill(sends[slot].buffer, m->length, &m->identity);
            CHECK(shmemx_msg_isend(WORLD, sends[slot].buffer, m->length, me, m->identity.tag,
                                   &sends[slot].request)
                  == 0);
            for (int i = 0; i < n_posted; i++) {
                struct receive *first = &receives[order[i]];
                if (takes(first->source, first->tag, &m->identity)) {
                    first->message = n_messages;
                    m->is_taken = 1;
                    unpost(order[i]);
                    break;
                }
            }
            n_messages++;
            break;
        case 2: /* receive */
            if (r->request != SHMEMX_MSG_REQUEST_INVALID)
                break;
            *r = (struct receive){r->request, r->buffer, draw_length(), source, tag, 0};
            CHECK(shmemx_msg_irecv(WORLD, r->buffer, r->room, source, tag, &r->request) == 0);
            r->message = first_message(source, tag);
            if (r->message >= 0)
                messages[r->message].is_taken = 1;
            else
                order[n_posted++] = slot;
            break;
        case 3: /* wait, or cancel */
            if (r->request == SHMEMX_MSG_REQUEST_INVALID)
                break;
            if (r->message >= 0) {
                CHECK(shmemx_msg_cancel(&r->request) == 0);
                int error = shmemx_msg_wait(&r->request, &s);
                CHECK(error == s.error);
                verify_received(r, &s);
            } else {
                CHECK(shmemx_msg_test(&r->request, &s) == 0);
                if (draw(4))
                    break;
                CHECK(shmemx_msg_cancel(&r->request) == 1);
                unpost(slot);
            }
            CHECK(r->request == SHMEMX_MSG_REQUEST_INVALID);
            break;
        case 4: { /* probe */
            int first = first_message(source, tag);
            CHECK(shmemx_msg_iprobe(WORLD, source, tag, &s) == (first >= 0));
            if (first < 0)
                break;
            CHECK(s.nbytes == messages[first].length && s.tag == messages[first].identity.tag);
            break;
        }
        case 5: { /* blocking receive, of what is there */
            int first = first_message(source, tag);
            if (first < 0 || r->request != SHMEMX_MSG_REQUEST_INVALID)
                break;
            r->room = draw_length();
            r->message = first;
            messages[first].is_taken = 1;
            int error = shmemx_msg_recv(WORLD, r->buffer, r->room, source, tag, &s);
            CHECK(error == s.error);
            verify_received(r, &s);
            break;
        }
        }
    }
    /* The rest: all receives that have no message are cancelled, all messages received. */
    for (int i = 0; i < OPEN; i++) {
        struct receive *r = &receives[i];
        shmemx_msg_status_t s;
        if (r->request == SHMEMX_MSG_REQUEST_INVALID)
            continue;
        CHECK(shmemx_msg_cancel(&r->request) == (r->message < 0));
        if (r->message < 0)
            continue;
        shmemx_msg_wait(&r->request, &s);
        verify_received(r, &s);
    }
    for (int i; (i = first_message(SHMEMX_ANY_SOURCE, SHMEMX_ANY_TAG)) >= 0;) {
        shmemx_msg_status_t s;
        messages[i].is_taken = 1;
        receives[0].message = i;
        receives[0].room = LONGEST;
        shmemx_msg_recv(WORLD, receives[0].buffer, LONGEST, me, SHMEMX_ANY_TAG, &s);
        verify_received(&receives[0], &s);
    }
    for (int i = 0; i < OPEN; i++)
        CHECK(shmemx_msg_wait(&sends[i].request, NULL) == 0);
    CHECK(shmemx_msg_iprobe(WORLD, SHMEMX_ANY_SOURCE, SHMEMX_ANY_TAG, NULL) == 0);
    shmem_free(heap);
}

/* ---- Together ---- */

/* A receive: when it was begun, and when this PE knew that it had its message or was cancelled. */
struct entry {
    int source, tag;
    int begun, ended;
    int is_cancelled;
    struct identity message;
};

static struct entry *entries;
static int n_entries, clock_now, n_received;

struct open_receive {
    shmemx_msg_request_t request;
    unsigned char *buffer;
    int entry;
};

static void received(int entry, const unsigned char *buffer, const shmemx_msg_status_t *s)
{
    struct entry *e = &entries[entry];
    REQUIRE(s->nbytes >= sizeof e->message && s->error == 0);
    memcpy(&e->message, buffer, sizeof e->message);
    CHECK(e->message.source == s->source && e->message.tag == s->tag);
    CHECK(takes(e->source, e->tag, &e->message));
    verify(buffer + sizeof e->message, s->nbytes - sizeof e->message, &e->message);
    e->ended = clock_now++;
    n_received++;
}

static void together(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    int each = ALL / n, total = n * each;
    int *sent = calloc((size_t)n, sizeof *sent), n_sent = 0;
    entries = calloc(MAX_LOG, sizeof *entries);
    struct {
        shmemx_msg_request_t request;
        unsigned char *buffer;
    } sends[OPEN];
    struct open_receive open[OPEN];
    unsigned char *heap = checked_malloc((size_t)OPEN * 2 * LONGEST);
    unsigned char *own = malloc(LONGEST);
    for (int i = 0; i < OPEN; i++) {
        sends[i].request = open[i].request = SHMEMX_MSG_REQUEST_INVALID;
        sends[i].buffer = i % 2 ? heap + (size_t)i * LONGEST : malloc(LONGEST);
        open[i].buffer = i % 3 ? heap + (size_t)(OPEN + i) * LONGEST : malloc(LONGEST);
    }
    while (n_sent < total || n_received < total) {
        int slot = (int)draw(OPEN);
        struct open_receive *r = &open[slot];
        shmemx_msg_status_t s;
        int is_last = n_sent == total;
        /* Once all is sent, all that is to come is received. */
        int source = !is_last && draw(2) ? (int)draw((uint32_t)n) : SHMEMX_ANY_SOURCE;
        int tag = !is_last && draw(3) ? (int)draw(TAGS) : SHMEMX_ANY_TAG;
        switch (draw(5)) {
        case 0:
        case 1: {
            int to = (int)draw((uint32_t)n);
            if (sent[to] == each
                || (sends[slot].request != SHMEMX_MSG_REQUEST_INVALID
                    && !shmemx_msg_test(&sends[slot].request, NULL)))
                break;
            struct identity m = {me, sent[to]++, (int)draw(TAGS)};
            size_t length = draw_length();
            if (length > LONGEST - sizeof m)
                length = LONGEST - sizeof m;
            memcpy(sends[slot].buffer, &m, sizeof m);
            fill(sends[slot].buffer + sizeof m, length, &m);
            shmemx_msg_isend(WORLD, sends[slot].buffer, length + sizeof m, to, m.tag,
                             &sends[slot].request);
            n_sent++;
            break;
        }
        case 2:
            if (r->request != SHMEMX_MSG_REQUEST_INVALID || n_entries >= MAX_LOG - ALL)
                break; /* as many entries are left for messages that are probed */
            r->entry = n_entries++;
            entries[r->entry] = (struct entry){.source = source, .tag = tag, .begun = clock_now++};
            shmemx_msg_irecv(WORLD, r->buffer, LONGEST, source, tag, &r->request);
            break;
        case 3:
            if (r->request == SHMEMX_MSG_REQUEST_INVALID)
                break;
            if (shmemx_msg_test(&r->request, &s))
                received(r->entry, r->buffer, &s);
            else if (draw(3) == 0 && shmemx_msg_cancel(&r->request)) {
                entries[r->entry].ended = clock_now++;
                entries[r->entry].is_cancelled = 1;
            }
            break;
        case 4: /* of one thread: what is probed is what is received */
            if (!shmemx_msg_iprobe(WORLD, source, tag, &s))
                break;
            size_t probed = s.nbytes;
            int e = n_entries++;
            entries[e] = (struct entry){.source = s.source, .tag = s.tag, .begun = clock_now++};
            shmemx_msg_recv(WORLD, own, LONGEST, s.source, s.tag, &s);
            CHECK(s.nbytes == probed);
            received(e, own, &s);
            break;
        }
    }
    for (int i = 0; i < OPEN; i++) {
        CHECK(shmemx_msg_wait(&sends[i].request, NULL) == 0);
        if (open[i].request == SHMEMX_MSG_REQUEST_INVALID)
            continue;
        /* All messages have been received. */
        CHECK(shmemx_msg_cancel(&open[i].request) == 1);
        entries[open[i].entry].ended = clock_now++;
        entries[open[i].entry].is_cancelled = 1;
    }
    CHECK(n_received == total, "%d of %d", n_received, total);
    /* Entries are in the order in which the receives were begun. */
    char(*seen)[ALL] = calloc((size_t)n, sizeof *seen);
    for (int j = 0; j < n_entries; j++) {
        const struct entry *late = &entries[j];
        if (late->is_cancelled)
            continue;
        char *mark = &seen[late->message.source][late->message.number];
        CHECK(!*mark, "message %d of PE %d twice", late->message.number, late->message.source);
        *mark = 1;
        for (int i = 0; i < j; i++) {
            const struct entry *early = &entries[i];
            if (!takes(early->source, early->tag, &late->message))
                continue;
            /* The earlier receive would have taken the later one's message. */
            CHECK(!(early->is_cancelled && early->ended > late->ended),
                  "a receive that was cancelled later had no message");
            CHECK(early->is_cancelled || early->message.source != late->message.source
                      || early->message.number < late->message.number,
                  "message %d of PE %d was overtaken by %d", late->message.number,
                  late->message.source, early->message.number);
        }
    }
    shmem_barrier_all();
    shmem_free(heap);
    free(seen);
    free(sent);
}

/* From a PE's own memory to the next one's. */
static void to_the_next(void)
{
    unsigned char *out = malloc(LONGEST), *in = malloc(LONGEST);
    shmemx_msg_request_t sent;
    memset(out, 1 + shmem_my_pe(), LONGEST);
    shmemx_msg_isend(WORLD, out, LONGEST, right_of(shmem_my_pe()), 1, &sent);
    shmemx_msg_recv(WORLD, in, LONGEST, left_of(shmem_my_pe()), 1, NULL);
    shmemx_msg_wait(&sent, NULL);
    for (int i = 0; i < LONGEST; i++)
        CHECK(in[i] == 1 + left_of(shmem_my_pe()), "byte %d: %d", i, in[i]);
    free(out);
    free(in);
}

/* As a container's filter does. */
static void refuse_reads(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    shmem_init();
    const char *way = argc > 1 ? argv[1] : "1";
    if (strcmp(way, "later") == 0)
        to_the_next();
    if (strcmp(way, "later") == 0 || strcmp(way, "refused") == 0)
        refuse_reads();
    int seed = atoi(way);
    random_state = (uint64_t)seed * 1000003u + (uint64_t)shmem_my_pe() * 7919u + 1;
    alone();
    shmem_barrier_all();
    together();
    return finish();
}
