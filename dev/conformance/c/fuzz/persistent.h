/* Persistent requests that are started many times: some of them in a round, in an order of its own. */
#ifndef FUZZ_PERSISTENT_H
#define FUZZ_PERSISTENT_H

#include "draw.h"

enum { MOST_PERSISTENT = 5, MOST_WORDS_OF_ONE = 1500 };

/* What a request does with blocks of so many words; a PE's block for another one has the other's number in it. */
enum what { A_SYNC, A_BROADCAST, A_COLLECT, AN_FCOLLECT, AN_ALLTOALL, A_REDUCTION, A_SCAN, A_GATHER, A_SCATTER, WHATS };

struct repeated {
    enum what what;
    int words, root;
    uint64_t *dest, *source;
    shmemx_req_h request;
};

static uint64_t word_of(int which, int round, int from, int to, int i)
{
    return mix((uint64_t)which << 48 | (uint64_t)round << 40 | (uint64_t)from << 32 | (uint64_t)to << 24 | (uint64_t)i);
}

/* How many blocks a PE has at source, or at dest. */
static int blocks_of(const struct repeated *r, const struct team *t, int rank, int dest)
{
    switch (r->what) {
    case A_SYNC:
        return 0;
    case AN_ALLTOALL:
        return t->size;
    case A_COLLECT:
    case AN_FCOLLECT:
        return dest ? t->size : 1;
    case A_GATHER:
        return !dest ? 1 : rank == r->root ? t->size : 0;
    case A_SCATTER:
        return dest ? 1 : rank == r->root ? t->size : 0;
    default:
        return 1;
    }
}

/* A word of this PE's dest after a round: from block `block` of it. */
static uint64_t expected_word(const struct repeated *r, const struct team *t, int which, int round, int block, int i)
{
    int rank = t->rank[me], last = r->what == A_SCAN ? rank - 1 : t->size - 1;
    uint64_t sum = 0;
    switch (r->what) {
    case A_BROADCAST:
        return word_of(which, round, r->root, 0, i);
    case A_SCATTER:
        return word_of(which, round, r->root, rank, i);
    case AN_ALLTOALL:
        return word_of(which, round, block, rank, i);
    case A_REDUCTION:
    case A_SCAN:
        for (int from = 0; from <= last; from++)
            sum += word_of(which, round, from, 0, i);
        return sum;
    default:
        return word_of(which, round, block, 0, i);
    }
}

static int make_request(struct repeated *r, const struct team *t)
{
    size_t words = (size_t)r->words, bytes = 8 * words;
    switch (r->what) {
    case A_SYNC:
        return forms[1].sync(t->handle, &r->request);
    case A_BROADCAST:
        return forms[1].broadcast(t->handle, r->dest, r->source, bytes, r->root, &r->request);
    case A_COLLECT:
        return forms[1].collect(t->handle, r->dest, r->source, bytes, &r->request);
    case AN_FCOLLECT:
        return forms[1].fcollect(t->handle, r->dest, r->source, bytes, &r->request);
    case AN_ALLTOALL:
        return forms[1].alltoall(t->handle, r->dest, r->source, bytes, &r->request);
    case A_REDUCTION:
        return forms[1].reduce(t->handle, r->dest, r->source, words, SHMEMX_UNSIGNED + 8, SHMEMX_SUM, &r->request);
    case A_SCAN:
        return forms[1].scan(t->handle, r->dest, r->source, words, SHMEMX_UNSIGNED + 8, 0, &r->request);
    case A_GATHER:
        return forms[1].gather(t->handle, r->dest, r->source, bytes, r->root, &r->request);
    default:
        return forms[1].scatter(t->handle, r->dest, r->source, bytes, r->root, &r->request);
    }
}

/* Waits for requests, in an order of this PE's. */
static void await_some(struct rng *own, struct repeated **some, int count)
{
    for (; count > 0; count--) {
        int i = below(own, count);
        if (once_in(own, 2))
            F(shmemx_req_wait)(&some[i]->request);
        else
            while (F(shmemx_req_test)(&some[i]->request) != 0)
                ;
        some[i] = some[count - 1];
    }
}

static void repeat_requests(struct rng *rng, int number)
{
    static struct repeated all[MOST_PERSISTENT];
    const struct team *t = &teams[draw_team(rng)];
    int count = between(rng, 1, MOST_PERSISTENT), rounds = between(rng, 1, 8), rank = t->rank[me];
    size_t room = (size_t)t->size * MOST_WORDS_OF_ONE * 8;
    uint64_t *memory = F(shmem_malloc)(room * 2 * (size_t)count);
    if (memory == NULL)
        differs(number, "no room for persistent requests");
    memset(memory, 0xee, room * 2 * (size_t)count);
    for (int k = 0; k < count; k++) {
        all[k] = (struct repeated){.what = (enum what)below(rng, WHATS), .root = below(rng, t->size)};
        all[k].words = (int)draw_count(rng, MOST_WORDS_OF_ONE);
        all[k].dest = memory + (size_t)k * 2 * room / 8;
        all[k].source = all[k].dest + room / 8;
        expect_that(rank < 0 || make_request(&all[k], t) == 0, "a persistent request", number);
    }
    if (rank >= 0)
        F(shmem_team_sync)(t->handle);
    struct rng own = rng_of(next(rng), (uint64_t)me, 0);
    for (int round = 0; round < rounds; round++) {
        /* The same order on all PEs; PEs wait before the next start, or at the end. */
        struct repeated *order[MOST_PERSISTENT], *under_way[MOST_PERSISTENT];
        int some = between(rng, 1, count), started = 0;
        for (int k = 0; k < count; k++)
            order[k] = &all[k];
        for (int k = 0; k < some; k++) {
            int at = between(rng, k, count - 1);
            struct repeated *r = order[at];
            order[at] = order[k];
            order[k] = r;
        }
        for (int k = 0; rank >= 0 && k < some; k++) {
            struct repeated *r = order[k];
            for (int at = 0; at < r->words * blocks_of(r, t, rank, 0); at++)
                r->source[at] = word_of((int)(r - all), round, rank, at / r->words, at % r->words);
            if (once_in(&own, 10))
                pause_for(below(&own, 1000));
            F(shmemx_req_start)(&r->request);
            under_way[started++] = r;
            if (once_in(&own, 4)) {
                await_some(&own, under_way, started);
                started = 0;
            }
        }
        if (rank < 0)
            continue;
        await_some(&own, under_way, started);
        for (int k = 0; k < some; k++) {
            struct repeated *r = order[k];
            int words = r->words * blocks_of(r, t, rank, 1), which = (int)(r - all);
            memset(r->source, 0xdd, room);
            for (int at = 0; at < words; at++)
                if (r->dest[at] != expected_word(r, t, which, round, at / r->words, at % r->words))
                    differs(number, "round %d of %d: request %d of kind %d: word %d of %d differs", round, rounds,
                            which, r->what, at, words);
            for (size_t at = (size_t)words; at < room / 8; at++)
                if (r->dest[at] != UINT64_C(0xeeeeeeeeeeeeeeee))
                    differs(number, "request %d of kind %d: word %zu behind %d differs", which, r->what, at, words);
        }
        /* Those that are ahead write to dest. */
        F(shmem_team_sync)(t->handle);
    }
    for (int k = 0; rank >= 0 && k < count; k++)
        F(shmemx_req_free)(&all[k].request);
    F(shmem_free)(memory);
}

#endif
