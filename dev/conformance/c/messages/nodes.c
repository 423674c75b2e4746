/* What differs in messages between PEs of several nodes. It must hold on one, too.
 *
 * `ways`: long messages between memory that is symmetric and memory that is not, of all lengths about those at which
 * something changes, whole and cut off.
 * `credit`: more short messages than a receiver keeps for a sender, received in another order, with receives begun
 * before and after.
 * `busy`: PEs that compute without calls, or wait in other routines, while messages come.
 * `many`: more long sends at a time than a PE exposes, received in another order.
 * `teams`: teams that end while messages to them are on their way. */
#include <shmemx.h>
#include <unistd.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

enum { MOST = 3 << 20 };

static int me, n;
static unsigned char global_from[MOST], global_to[MOST + 8];

static unsigned char byte_of(int pe, size_t length, size_t i)
{
    return (unsigned char)((size_t)pe * 31 + length + i + i / 251);
}

static void ways(void)
{
    static const size_t lengths[] = {8192, 8193, 16200, 16256, 16257, 65536, 524287, 524288, 524289, 1000003, MOST};
    unsigned char *heap_from = shmem_malloc(MOST), *heap_to = shmem_malloc(MOST + 8);
    unsigned char *own_from = malloc(MOST), *own_to = malloc(MOST + 8);
    unsigned char *from[] = {heap_from, global_from, own_from}, *to[] = {heap_to, global_to, own_to};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int way = 0; way < 18; way++) {
            size_t length = lengths[l], room = way / 9 ? length - 5 : MOST;
            unsigned char *source = from[way % 3], *dest = to[way / 3 % 3];
            int peer = right_of(me), left = left_of(me);
            if (way % 2)
                peer = left_of(me), left = right_of(me);
            for (size_t i = 0; i < length; i++)
                source[i] = byte_of(me, length, i);
            memset(dest, 0xee, length + 8);
            shmemx_msg_request_t sent, got;
            shmemx_msg_status_t s;
            int before = (me + way) % 2;
            if (before)
                shmemx_msg_irecv(WORLD, dest, room, SHMEMX_ANY_SOURCE, way, &got);
            shmemx_msg_isend(WORLD, source, length, peer, way, &sent);
            if (!before)
                shmemx_msg_irecv(WORLD, dest, room, left, way, &got);
            int error = shmemx_msg_wait(&got, &s);
            CHECK(error == (way / 9 ? SHMEMX_MSG_TRUNCATED : 0) && s.nbytes == length && s.source == left);
            shmemx_msg_wait(&sent, NULL);
            size_t taken = room < length ? room : length;
            for (size_t i = 0; i < taken; i++)
                if (dest[i] != byte_of(left, length, i)) {
                    CHECK(0, "byte %zu of %zu, way %d", i, length, way);
                    break;
                }
            CHECK(dest[taken] == 0xee, "more than %zu bytes written", taken);
        }
    shmem_barrier_all();
    shmem_free(heap_from);
    shmem_free(heap_to);
    free(own_from);
    free(own_to);
}

/* 8 MiB of short messages: the first are kept by the receiver, the others by their sender. */
static void credit(void)
{
    enum { COUNT = REPEAT(4000, 1200), BYTES = 7000 };
    static unsigned char here[BYTES];
    shmemx_msg_request_t *sent = malloc(COUNT * sizeof *sent), got[100];
    unsigned char *there = malloc((size_t)COUNT * BYTES);
    static unsigned char early[100][BYTES];
    for (int k = 0; k < 100; k++)
        shmemx_msg_irecv(WORLD, early[k], BYTES, left_of(me), COUNT - 1 - k, &got[k]);
    for (int k = 0; k < COUNT; k++) {
        size_t length = (size_t)(k % 7 == 0 ? 8 : BYTES - k);
        memset(there + (size_t)k * BYTES, k, length);
        shmemx_msg_isend(WORLD, there + (size_t)k * BYTES, length, right_of(me), k, &sent[k]);
    }
    for (int k = COUNT - 101; k >= 0; k--) {
        shmemx_msg_status_t s;
        CHECK(shmemx_msg_recv(WORLD, here, BYTES, SHMEMX_ANY_SOURCE, k, &s) == 0);
        CHECK(s.tag == k && s.nbytes == (size_t)(k % 7 == 0 ? 8 : BYTES - k));
        CHECK(here[0] == (unsigned char)k && here[s.nbytes - 1] == (unsigned char)k);
    }
    CHECK(shmemx_msg_waitall(100, got, NULL) == 0);
    for (int k = 0; k < 100; k++)
        CHECK(early[k][0] == (unsigned char)(COUNT - 1 - k));
    CHECK(shmemx_msg_waitall(COUNT, sent, NULL) == 0);
    /* Any source, any tag: those of each PE in their order. */
    int next[64] = {0};
    for (int k = 0; k < 200; k++)
        for (int pe = 0; pe < n; pe++) {
            int value = k;
            CHECK(shmemx_msg_send(WORLD, &value, sizeof value, pe, me) == 0);
        }
    for (int k = 0; k < 200 * n; k++) {
        int value = -1;
        shmemx_msg_status_t s;
        CHECK(shmemx_msg_recv(WORLD, &value, sizeof value, SHMEMX_ANY_SOURCE, SHMEMX_ANY_TAG, &s) == 0);
        CHECK(s.source == s.tag && value == next[s.source]++);
    }
    free(sent);
    free(there);
}

static void many(void)
{
    enum { COUNT = 1100, BYTES = 20000 };
    unsigned char *there = malloc((size_t)COUNT * BYTES), *here = malloc(BYTES);
    shmemx_msg_request_t *sent = malloc(COUNT * sizeof *sent);
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < COUNT; k++) {
            unsigned char *source = there + (size_t)k * BYTES;
            memset(source, k + round, BYTES);
            source[BYTES - 1] = (unsigned char)(k / 256 + me);
            shmemx_msg_isend(WORLD, source, BYTES, right_of(me), k, &sent[k]);
        }
        for (int i = 0; i < COUNT; i++) {
            int k = round == 0 ? COUNT - 1 - i : i;
            shmemx_msg_status_t s;
            CHECK(shmemx_msg_recv(WORLD, here, BYTES, SHMEMX_ANY_SOURCE, k, &s) == 0 && s.nbytes == BYTES);
            CHECK(here[0] == (unsigned char)(k + round) && here[BYTES - 2] == here[0]);
            CHECK(here[BYTES - 1] == (unsigned char)(k / 256 + left_of(me)));
        }
        CHECK(shmemx_msg_waitall(COUNT, sent, NULL) == 0);
    }
    free(sent);
    free(here);
    free(there);
}

static long flag;

static void busy(void)
{
    enum { LONG = 400000 };
    unsigned char *source = malloc(LONG), *dest = malloc(LONG), *whole = shmem_malloc(LONG);
    for (int round = 0; round < 6; round++) {
        shmemx_msg_request_t sent[3], got[3];
        memset(source, me + round, LONG);
        memset(whole, me + round + 1, LONG);
        for (int i = 0; i < 3; i++)
            shmemx_msg_isend(WORLD, i == 1 ? whole : source, i == 2 ? 8 : LONG, right_of(me), i, &sent[i]);
        if (me == round % n)
            usleep(150000);
        unsigned char word[8];
        unsigned char *to[] = {dest, source, word};
        for (int i = 0; i < 3; i += 2)
            shmemx_msg_irecv(WORLD, to[i], i == 2 ? 8 : LONG, left_of(me), i, &got[i]);
        /* All messages but one pass while the PEs wait here. */
        if (round % 3 == 0)
            shmem_barrier_all();
        else if (round % 3 == 1) {
            shmem_long_atomic_inc(&flag, right_of(me));
            shmem_long_wait_until(&flag, SHMEM_CMP_GE, round / 3 + 1);
        } else {
            int done = 0;
            while (!done)
                done = shmemx_msg_test(&got[0], NULL);
        }
        shmemx_msg_status_t s;
        if (round % 3 != 2)
            CHECK(shmemx_msg_wait(&got[0], &s) == 0 && s.nbytes == LONG);
        CHECK(shmemx_msg_wait(&got[2], NULL) == 0);
        unsigned char sum = (unsigned char)(left_of(me) + round);
        CHECK(dest[0] == sum && dest[LONG - 1] == sum && word[7] == sum);
        CHECK(shmemx_msg_probe(WORLD, left_of(me), SHMEMX_ANY_TAG, &s) == 0 && s.tag == 1);
        CHECK(shmemx_msg_recv(WORLD, dest, LONG, left_of(me), 1, NULL) == 0);
        CHECK(dest[0] == (unsigned char)(sum + 1) && dest[LONG - 1] == (unsigned char)(sum + 1));
        CHECK(shmemx_msg_waitall(3, sent, NULL) == 0);
        shmem_barrier_all();
    }
    free(source);
    free(dest);
    shmem_free(whole);
}

static void teams(void)
{
    for (int round = 0; round < REPEAT(200, 40); round++) {
        shmem_team_t team;
        REQUIRE(shmem_team_split_strided(WORLD, 0, 1, n, NULL, 0, &team) == 0 || n == 1);
        if (n == 1)
            team = SHMEM_TEAM_SHARED;
        int right = right_of(me), value = round;
        /* Those that were left before are gone; others may have come already. */
        for (int i = 0; i < 20 && round > 0 && n > 1; i++)
            CHECK(shmemx_msg_iprobe(team, SHMEMX_ANY_SOURCE, (round - 1) * 20 + i, NULL) == 0);
        for (int i = 0; i < 20; i++)
            CHECK(shmemx_msg_send(team, &value, sizeof value, right, round * 20 + i) == 0);
        value = -1;
        CHECK(shmemx_msg_recv(team, &value, sizeof value, left_of(me), round * 20 + 7, NULL) == 0);
        CHECK(value == round);
        if (n > 1)
            shmem_team_destroy(team);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "ways";
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    if (strcmp(way, "ways") == 0)
        ways();
    else if (strcmp(way, "credit") == 0)
        credit();
    else if (strcmp(way, "many") == 0)
        many();
    else if (strcmp(way, "busy") == 0)
        busy();
    else if (strcmp(way, "teams") == 0)
        teams();
    return finish();
}
