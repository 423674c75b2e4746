/* Streams of random items, against a model: each item arrives once, at the PE it was pushed to, with its source, and
 * after those that its source pushed to that PE before.
 *
 * Each round has a stream of random item size, steady or not, over all PEs or every other one, and is used twice. PEs
 * push one by one or several at a time, and pull one by one or by views, in random proportions: some come late, some
 * are slow. In every third round all items go to one PE.
 *
 * Then one PE after the other waits, in each routine of messages, for one that another PE sends when it has all items:
 * those that come to its node by way of it, too. */
#include <shmemx.h>
#include <unistd.h>

#include "check.h"

enum { MOST = 40, LONGEST = 3000 };

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

/* The byte at `at` of item `number` from `source` to `dest`. */
static unsigned char byte(int source, int dest, uint32_t number, size_t at)
{
    return (unsigned char)((uint32_t)source * 31 + (uint32_t)dest * 17 + number * 7 +
                           (number >> 8) * 3 + (uint32_t)at);
}

struct round {
    size_t size;
    int me, n;
    uint32_t *sent, *received; /* by PE */
    int slow;
};

static void fill(const struct round *r, unsigned char *item, int dest, uint32_t number)
{
    for (size_t i = 0; i < r->size; i++)
        item[i] = byte(r->me, dest, number, i);
}

static void arrived(struct round *r, const unsigned char *item, int source)
{
    REQUIRE(source >= 0 && source < r->n, "source %d", source);
    uint32_t number = r->received[source]++;
    for (size_t i = 0; i < r->size; i++)
        REQUIRE(item[i] == byte(source, r->me, number, i), "item %u of PE %d, byte %zu of %zu", number,
                source, i, r->size);
}

static void take(struct round *r, shmemx_stream_t stream, int most)
{
    static uint64_t room[LONGEST / 8];
    for (int k = 0; k < most; k++) {
        int source = -1;
        if (draw(2)) {
            if (!shmemx_stream_pull(stream, room, draw(9) ? &source : &source))
                return;
            arrived(r, (unsigned char *)room, source);
        } else {
            const void *items;
            size_t n = shmemx_stream_view(stream, &items, &source);
            if (n == 0)
                return;
            for (size_t i = 0; i < n; i++)
                arrived(r, (const unsigned char *)items + i * r->size, source);
        }
        if (r->slow && draw(200) == 0)
            usleep(200);
    }
}

static void use(struct round *r, shmemx_stream_t stream, uint32_t count, int to_one)
{
    static unsigned char items[MOST * LONGEST];
    memset(r->sent, 0, (size_t)r->n * sizeof *r->sent);
    memset(r->received, 0, (size_t)r->n * sizeof *r->received);
    uint32_t left = count;
    while (left > 0) {
        int dest = to_one >= 0 ? to_one : (int)draw((uint32_t)r->n);
        uint32_t n = draw(3) ? 1 : 1 + draw(left < MOST ? left : MOST);
        for (uint32_t i = 0; i < n; i++)
            fill(r, items + i * r->size, dest, r->sent[dest] + i);
        for (uint32_t done = 0; done < n;) {
            uint32_t before = done;
            if (n == 1)
                done += (uint32_t)shmemx_stream_push(stream, items, dest);
            else
                done += (uint32_t)shmemx_stream_push_many(stream, items + done * r->size, n - done,
                                                          dest);
            if (done == before)
                take(r, stream, 1000);
        }
        r->sent[dest] += n;
        left -= n;
        if (draw(4) == 0)
            take(r, stream, (int)draw(4));
        if (draw(100) == 0)
            shmemx_stream_flush(stream);
    }
    shmemx_stream_end(stream);
    if (draw(2)) {
        while (shmemx_stream_wait(stream))
            take(r, stream, 10);
    } else {
        while (!shmemx_stream_done(stream))
            take(r, stream, 10);
    }
    CHECK(shmemx_stream_done(stream) == 1);
    CHECK(shmemx_stream_pull(stream, items, NULL) == 0);
}

/* All PEs compare how many items each has received with what the others have sent. */
static void compare(const struct round *r, uint32_t *all, int first, int stride)
{
    for (int pe = 0; pe < r->n; pe++)
        shmem_put32(all + r->me, r->sent + pe, 1, first + pe * stride);
    shmem_barrier_all();
    for (int pe = 0; pe < r->n; pe++)
        CHECK(r->received[pe] == all[pe], "%u of %u items of PE %d", r->received[pe], all[pe], pe);
    shmem_barrier_all();
}

enum { WAYS = 7, LENGTH = 100000 };

/* Waits in the routine of that number for a message, or until one is received. */
static void wait_for_message(int way, int peer)
{
    static unsigned char bytes[LENGTH];
    shmemx_msg_request_t request;
    if (way == 0) {
        CHECK(shmemx_msg_recv(SHMEM_TEAM_WORLD, bytes, 1, peer, way, NULL) == 0);
    } else if (way <= 3) {
        CHECK(shmemx_msg_irecv(SHMEM_TEAM_WORLD, bytes, 1, SHMEMX_ANY_SOURCE, way, &request) == 0);
        if (way == 1)
            CHECK(shmemx_msg_wait(&request, NULL) == 0);
        else if (way == 2)
            CHECK(shmemx_msg_waitany(1, &request, NULL) == 0);
        else
            while (!shmemx_msg_test(&request, NULL))
                ;
    } else if (way <= 5) {
        if (way == 4)
            CHECK(shmemx_msg_probe(SHMEM_TEAM_WORLD, peer, way, NULL) == 0);
        else
            while (!shmemx_msg_iprobe(SHMEM_TEAM_WORLD, peer, way, NULL))
                ;
        CHECK(shmemx_msg_recv(SHMEM_TEAM_WORLD, bytes, 1, peer, way, NULL) == 0);
    } else {
        /* The receiver takes it later: so long a message is not sent before. */
        CHECK(shmemx_msg_send(SHMEM_TEAM_WORLD, bytes, LENGTH, peer, way) == 0);
    }
}

/* PE `waiting` waits for a message of the PE after it, which that one sends when the stream is done. */
static void use_beside_messages(int way, int me, int n, int waiting)
{
    uint64_t count = REPEAT(2000u, 300u), pulled = 0, item;
    shmemx_stream_t stream;
    REQUIRE(shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof item, way % 2 ? SHMEMX_STREAM_STEADY : 0, &stream) == 0);
    int peer = (waiting + 1) % n;
    if (me == waiting)
        shmemx_stream_end(stream);
    /* No item is pushed before the PE that waits has made its last call of the stream. */
    shmem_barrier_all();
    if (me == waiting) {
        wait_for_message(way, peer);
    } else {
        for (uint64_t i = 0; i < count; i++)
            for (int pe = 0; pe < n; pe++)
                while (pe != waiting && !shmemx_stream_push(stream, &i, pe))
                    while (shmemx_stream_pull(stream, &item, NULL))
                        pulled++;
        shmemx_stream_end(stream);
        while (shmemx_stream_wait(stream))
            while (shmemx_stream_pull(stream, &item, NULL))
                pulled++;
        CHECK(pulled == count * (uint64_t)(n - 1), "%lu items", (unsigned long)pulled);
    }
    static unsigned char bytes[LENGTH];
    if (me == peer && way == WAYS - 1)
        CHECK(shmemx_msg_recv(SHMEM_TEAM_WORLD, bytes, LENGTH, waiting, way, NULL) == 0);
    else if (me == peer)
        CHECK(shmemx_msg_send(SHMEM_TEAM_WORLD, bytes, 1, waiting, way) == 0);
    shmemx_stream_destroy(stream);
}

int main(int argc, char **argv)
{
    uint32_t seed = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    uint32_t *all = shmem_malloc((size_t)n * sizeof *all);
    uint32_t *sent = malloc((size_t)n * sizeof *sent), *received = malloc((size_t)n * sizeof *sent);
    shmem_team_t half;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &half);
    for (uint32_t k = 0; k < REPEAT(12u, 4u); k++) {
        state = seed * 1000 + k; /* the same on all PEs */
        static const size_t sizes[] = {1, 2, 4, 8, 8, 12, 16, 24, 100, LONGEST};
        size_t size = draw(3) ? sizes[draw(10)] : 1 + draw(200);
        uint32_t count = draw(REPEAT(20000u, 3000u)) * 8 / (uint32_t)(size + 8);
        int to_one = k % 3 == 2 ? (int)draw((uint32_t)(n + 1) / 2) : -1;
        int steady = (int)draw(3) == 0, halves = draw(4) == 0, slow = (int)draw((uint32_t)n);
        shmem_team_t team = halves ? half : SHMEM_TEAM_WORLD;
        int in_team = !halves || me % 2 == 0;
        struct round r = {size, halves ? me / 2 : me, halves ? (n + 1) / 2 : n, sent, received,
                          slow == me};
        state += (uint64_t)me << 40;
        memset(sent, 0, (size_t)n * sizeof *sent);
        memset(received, 0, (size_t)n * sizeof *sent);
        shmemx_stream_t stream = SHMEMX_STREAM_INVALID;
        if (in_team) {
            REQUIRE(shmemx_stream_create(team, size, steady ? SHMEMX_STREAM_STEADY : 0, &stream) == 0);
            if (draw(3) == 0)
                usleep(draw(3000));
        }
        for (int twice = 0; twice < 2; twice++) {
            if (in_team)
                use(&r, stream, count, to_one);
            memset(all, 0, (size_t)n * sizeof *all);
            shmem_barrier_all();
            if (in_team)
                compare(&r, all, 0, halves ? 2 : 1);
            else {
                shmem_barrier_all();
                shmem_barrier_all();
            }
            if (in_team && twice == 0)
                shmemx_stream_reset(stream);
        }
        if (in_team)
            shmemx_stream_destroy(stream);
    }
    for (int way = 0; way < WAYS && n > 1; way++)
        use_beside_messages(way, me, n, (int)((seed + (uint32_t)way) % (uint32_t)n));
    free(sent);
    free(received);
    return finish();
}
