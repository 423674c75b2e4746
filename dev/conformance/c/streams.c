/* Streams of random items, against a model: each item arrives once, at the PE it was pushed to, with its source, and after those
 * that its source pushed to that PE before.
 *
 * Each round has a stream of random item size, steady or not, over all PEs or every other one, and is used twice. PEs push one by one
 * or several at a time, and pull one by one or by views, in random proportions: some come late, some are slow. In
 * every third round all items go to one PE. */
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
    free(sent);
    free(received);
    shmem_finalize();
    return check_status();
}
