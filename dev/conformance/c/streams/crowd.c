/* Streams that are hard on flow control.
 *
 * `one`: all PEs push to PE 0, which comes late and is slow.
 * `circle`: each PE pushes all it has to the next one, and pulls only when it must.
 * `answers`: each item is answered by one of another stream, while new ones are pushed.
 * `threads`: two threads of each PE push and pull in one stream.
 * `unused`: streams that are created and destroyed, one with items that no PE pulls. */
#include <pthread.h>
#include <shmemx.h>
#include <unistd.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

static shmemx_stream_t stream;
static uint64_t pulled, sum;

static void one(int me, int n, uint64_t count)
{
    uint64_t item;
    if (me == 0)
        usleep(20000);
    for (uint64_t i = 0; i < count; i++)
        while (!shmemx_stream_push(stream, &i, 0))
            while (shmemx_stream_pull(stream, &item, NULL)) {
                pulled++;
                sum += item;
            }
    shmemx_stream_end(stream);
    while (shmemx_stream_wait(stream))
        while (shmemx_stream_pull(stream, &item, NULL)) {
            if (++pulled % 5000 == 0)
                usleep(1000);
            sum += item;
        }
    uint64_t all = me == 0 ? (uint64_t)n : 0;
    CHECK(pulled == count * all && sum == count * (count - 1) / 2 * all);
}

static void circle(int me, int n, uint64_t count)
{
    uint64_t item;
    int next = (me + 1) % n, before = (me + n - 1) % n, from;
    for (uint64_t i = 0; i < count; i++)
        while (!shmemx_stream_push(stream, &i, next))
            while (shmemx_stream_pull(stream, &item, &from))
                CHECK(item == pulled++ && from == before);
    shmemx_stream_end(stream);
    while (!shmemx_stream_done(stream))
        while (shmemx_stream_pull(stream, &item, &from))
            CHECK(item == pulled++ && from == before);
    CHECK(pulled == count);
}

static void answers(int me, int n, uint64_t count)
{
    shmemx_stream_t back;
    REQUIRE(shmemx_stream_create(WORLD, sizeof(uint64_t), SHMEMX_STREAM_STEADY, &back) == 0);
    uint64_t asked = 0, known = 0, item;
    int from;
    for (int is_ended = 0; !is_ended || !shmemx_stream_done(stream);) {
        uint64_t question = asked * (uint64_t)n + (uint64_t)me;
        if (asked < count && shmemx_stream_push(stream, &question, (int)(asked * 7 % (uint64_t)n)))
            asked++;
        if (asked == count && !is_ended) {
            shmemx_stream_end(stream);
            is_ended = 1;
        }
        /* Also what this PE has asked for: another one may wait for room for its answers. */
        while (shmemx_stream_pull(back, &item, NULL)) {
            known++;
            sum += item;
        }
        while (shmemx_stream_pull(stream, &item, &from)) {
            CHECK(item % (uint64_t)n == (uint64_t)from);
            uint64_t answer = item * 3;
            while (!shmemx_stream_push(back, &answer, from))
                while (shmemx_stream_pull(back, &item, NULL)) {
                    known++;
                    sum += item;
                }
        }
    }
    shmemx_stream_end(back);
    while (shmemx_stream_wait(back))
        while (shmemx_stream_pull(back, &item, NULL)) {
            known++;
            sum += item;
        }
    uint64_t numbers = count * (count - 1) / 2;
    CHECK(known == count && sum == 3 * ((uint64_t)n * numbers + count * (uint64_t)me), "%lu answers",
          (unsigned long)known);
    shmemx_stream_destroy(back);
}

struct share {
    uint64_t count, pulled, sum;
    int n;
};

static void *push_and_pull(void *arg)
{
    struct share *share = arg;
    uint64_t item;
    for (uint64_t i = 0; i < share->count; i++)
        while (!shmemx_stream_push(stream, &i, (int)(i % (uint64_t)share->n)))
            while (shmemx_stream_pull(stream, &item, NULL)) {
                share->pulled++;
                share->sum += item;
            }
    return NULL;
}

static void threads(int n, uint64_t count)
{
    struct share shares[2] = {{count, 0, 0, n}, {count, 0, 0, n}};
    pthread_t thread;
    pthread_create(&thread, NULL, push_and_pull, &shares[0]);
    push_and_pull(&shares[1]);
    pthread_join(thread, NULL);
    shmemx_stream_end(stream);
    uint64_t item, mine = shares[0].pulled + shares[1].pulled;
    while (shmemx_stream_wait(stream))
        while (shmemx_stream_pull(stream, &item, NULL))
            mine++;
    static uint64_t all, one_pe;
    one_pe = mine;
    shmem_barrier_all();
    shmem_uint64_sum_reduce(WORLD, &all, &one_pe, 1);
    CHECK(all == 2 * count * (uint64_t)n, "%lu items", (unsigned long)all);
}

static void unused(int me)
{
    shmemx_stream_t more[5];
    for (int i = 0; i < 5; i++)
        REQUIRE(shmemx_stream_create(WORLD, (size_t)(i + 1) * 50, 0, &more[i]) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(shmemx_stream_push(more[i], "an item that no PE pulls, and which has as many bytes as there are: "
                                          "one hundred and fifty of them, so that the longest of these streams "
                                          "has it, too.",
                                 me) == 1);
    for (int i = 4; i >= 0; i--)
        shmemx_stream_destroy(more[i]);
    /* The memory is used again. */
    for (int i = 0; i < 300; i++) {
        shmemx_stream_t again;
        REQUIRE(shmemx_stream_create(WORLD, 8, 0, &again) == 0, "stream %d", i);
        uint64_t item = (uint64_t)i;
        CHECK(shmemx_stream_push(again, &item, me) == 1);
        shmemx_stream_flush(again);
        CHECK(shmemx_stream_pull(again, &item, NULL) == 1 && item == (uint64_t)i);
        shmemx_stream_destroy(again);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    int provided;
    shmem_init_thread(strcmp(way, "threads") == 0 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
    int me = shmem_my_pe(), n = shmem_n_pes();
    REQUIRE(shmemx_stream_create(WORLD, sizeof(uint64_t), 0, &stream) == 0);
    uint64_t count = REPEAT(200000u, 20000u) / (uint64_t)n;
    if (strcmp(way, "one") == 0)
        one(me, n, count);
    else if (strcmp(way, "circle") == 0)
        circle(me, n, count);
    else if (strcmp(way, "answers") == 0)
        answers(me, n, count);
    else if (strcmp(way, "threads") == 0)
        threads(n, count);
    else
        unused(me);
    shmemx_stream_destroy(stream);
    return finish();
}
