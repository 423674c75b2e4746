/* Streams of items over any team. All PEs know which items each pushes to whom, in which order. */
#ifndef FUZZ_STREAMS_H
#define FUZZ_STREAMS_H

#include "draw.h"

enum { MOST_STREAMS = 2, MOST_ITEM = 3000, MOST_RUN = 16 };

/* A stream, what each PE pushes to it, and how far the items of each have come to this PE. */
struct stream {
    shmemx_stream_t handle;
    uint64_t draw;
    size_t size;
    int items, run, only; /* only: all items go to this PE of the team; -1: to any */
    int taken[MOST_PES];
};

/* The PE to which another one pushes an item: the same for some in a row. */
static int dest_of(const struct stream *s, const struct team *t, int source, int item)
{
    return s->only >= 0 ? s->only : (int)(mix(s->draw + (uint64_t)source * 65536 + (uint64_t)(item / s->run))
                                          % (uint64_t)t->size);
}

static unsigned char item_byte(const struct stream *s, int source, int item, size_t i)
{
    uint64_t word = mix(s->draw ^ (uint64_t)source << 32 ^ (uint64_t)item);
    return (unsigned char)((word >> i % 8 * 8) + i / 8);
}

/* The number of the next item of a PE that is for another one. */
static int next_of(const struct stream *s, const struct team *t, int source, int dest, int item)
{
    while (item < s->items && dest_of(s, t, source, item) != dest)
        item++;
    return item;
}

static void examine_item(struct stream *s, const struct team *t, const unsigned char *item, int source, int number)
{
    if (source < 0 || source >= t->size)
        differs(number, "a stream has an item of PE %d of %d", source, t->size);
    int *taken = &s->taken[source], which = *taken = next_of(s, t, source, t->rank[me], *taken);
    if (which == s->items)
        differs(number, "a stream of %zu bytes has an item of PE %d too many", s->size, source);
    for (size_t i = 0; i < s->size; i++)
        if (item[i] != item_byte(s, source, which, i))
            differs(number, "a stream: byte %zu of %zu of item %d from PE %d of the team: expected %02x, found %02x", i,
                    s->size, which, source, item_byte(s, source, which, i), item[i]);
    ++*taken;
    calls++;
}

/* Takes what has arrived, some items or all. */
static void take_items(struct rng *own, struct stream *s, const struct team *t, int most, int number)
{
    static uint64_t room[MOST_ITEM / 8 + 1];
    for (int source = -1; most > 0; most--) {
        if (once_in(own, 2)) {
            if (!F(shmemx_stream_pull)(s->handle, room, &source))
                return;
            examine_item(s, t, (unsigned char *)room, source, number);
        } else {
            const void *items = NULL;
            size_t count = F(shmemx_stream_view)(s->handle, &items, &source);
            for (size_t i = 0; i < count; i++)
                examine_item(s, t, (const unsigned char *)items + i * s->size, source, number);
            if (count == 0)
                return;
        }
    }
}

/* Pushes the items from that one to the end of its run. How many there was room for. */
static int push_items(const struct stream *s, const struct team *t, int item)
{
    static unsigned char items[MOST_RUN * MOST_ITEM];
    int rank = t->rank[me], dest = dest_of(s, t, rank, item), end = (item / s->run + 1) * s->run;
    int count = (end < s->items ? end : s->items) - item;
    for (int k = 0; k < count; k++)
        for (size_t i = 0; i < s->size; i++)
            items[(size_t)k * s->size + i] = item_byte(s, rank, item + k, i);
    return count == 1 ? F(shmemx_stream_push)(s->handle, items, dest)
                      : (int)F(shmemx_stream_push_many)(s->handle, items, (size_t)count, dest);
}

/* One or two streams from their creation to their end, used twice at most. */
static void use_streams(struct rng *rng, int number)
{
    static struct stream all[MOST_STREAMS];
    static const size_t sizes[] = {1, 4, 8, 24, 100, 1000, MOST_ITEM};
    const struct team *t = &teams[draw_team(rng)];
    int count = between(rng, 1, MOST_STREAMS), uses = between(rng, 1, 2), steady[MOST_STREAMS];
    for (int i = 0; i < count; i++) {
        size_t size = sizes[below(rng, 7)];
        all[i] = (struct stream){.draw = next(rng), .size = size, .run = between(rng, 1, MOST_RUN)};
        all[i].only = once_in(rng, 3) ? below(rng, t->size) : -1;
        all[i].items = below(rng, size > 100 ? 300 : 3000);
        steady[i] = once_in(rng, 2) ? SHMEMX_STREAM_STEADY : 0;
    }
    struct rng own = rng_of(next(rng), (uint64_t)me, 0);
    int slow = once_in(rng, 3) ? below(rng, n) : -1;
    if (t->rank[me] < 0)
        return;
    for (int i = 0; i < count; i++)
        expect_that(F(shmemx_stream_create)(t->handle, all[i].size, steady[i], &all[i].handle) == 0,
                    "shmemx_stream_create", number);
    for (; uses > 0; uses--) {
        int pushed[MOST_STREAMS] = {0}, open = count;
        for (int i = 0; i < count; i++)
            memset(all[i].taken, 0, sizeof all[i].taken);
        while (open > 0) {
            int i = below(&own, count), got;
            if (pushed[i] > all[i].items)
                continue;
            if (pushed[i] == all[i].items) {
                F(shmemx_stream_end)(all[i].handle);
                pushed[i]++;
                open--;
                continue;
            }
            got = push_items(&all[i], t, pushed[i]);
            pushed[i] += got;
            for (int k = 0; k < count && (got == 0 || once_in(&own, 4)); k++)
                take_items(&own, &all[k], t, got == 0 ? INT_MAX : below(&own, 4), number);
            if (once_in(&own, 100))
                F(shmemx_stream_flush)(all[i].handle);
            if (me == slow && once_in(&own, 50))
                pause_for(below(&own, 1000));
        }
        for (int left = count, ended[MOST_STREAMS] = {0}; left > 0;)
            for (int i = 0; i < count; i++) {
                /* A wait for one stream alone would leave another's items where they are. */
                int done = ended[i] || (left > 1 || once_in(&own, 2) ? F(shmemx_stream_done)(all[i].handle)
                                                                     : !F(shmemx_stream_wait)(all[i].handle));
                left -= done && !ended[i];
                ended[i] = done;
                take_items(&own, &all[i], t, done ? 1 : INT_MAX, number);
            }
        for (int i = 0; i < count; i++) {
            for (int source = 0; source < t->size; source++)
                if (next_of(&all[i], t, source, t->rank[me], all[i].taken[source]) != all[i].items)
                    differs(number, "a stream ends before item %d from PE %d of the team", all[i].taken[source],
                            source);
            all[i].draw++;
            if (uses > 1)
                F(shmemx_stream_reset)(all[i].handle);
        }
    }
    for (int i = 0; i < count; i++)
        F(shmemx_stream_destroy)(all[i].handle);
}

#endif
