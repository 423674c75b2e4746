/* Messages of all lengths between all pairs of PEs, from and to memory of both kinds; order, truncation, probe, cancel,
 * teams, and requests together.
 *
 * Argument: `late` for PEs that come late by 1 us to 50 ms, or `64m` for messages of 64 MiB alone. */
#include <shmemx.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

static int me, n;
static bool is_late;

static unsigned char byte_of(size_t i, int from, int round)
{
    return (unsigned char)(i * 7 + (size_t)from * 31 + (size_t)round * 13 + (i >> 9));
}

/* Every other PE comes late, in turns, by as long as a switch of threads or much longer. */
static void come_late(int round)
{
    static const useconds_t times[] = {1, 100, 10000, 50000};
    if (is_late && (me + round) % 2)
        usleep(times[round % 4]);
}

static void order(void)
{
    int numbers = REPEAT(1000, 100), *next = calloc((size_t)n, sizeof *next);
    if (me == 0) {
        for (int k = 0; k < numbers * (n - 1); k++) {
            shmemx_msg_status_t s;
            long value;
            CHECK(shmemx_msg_recv(WORLD, &value, 8, SHMEMX_ANY_SOURCE, 5, &s) == 0);
            CHECK(s.nbytes == 8 && s.tag == 5 && value == next[s.source]++);
        }
    } else {
        come_late(3);
        for (long k = 0; k < numbers; k++)
            CHECK(shmemx_msg_send(WORLD, &k, 8, 0, 5) == 0);
    }
    free(next);
}

static void pairs(const size_t *lengths, int count)
{
    size_t most = lengths[count - 1];
    unsigned char *symmetric = checked_malloc(2 * most), *own = malloc(2 * most);
    for (int z = 0; z < count; z++)
        for (int kinds = 0; kinds < 4; kinds++) {
            size_t length = lengths[z];
            int round = z * 4 + kinds;
            unsigned char *from_here = kinds & 1 ? symmetric : own;
            unsigned char *to_here = (kinds & 2 ? symmetric : own) + most;
            for (size_t i = 0; i < length; i++)
                from_here[i] = byte_of(i, me, round);
            for (int d = 0; d < n; d++) {
                int to = (me + d) % n, from = (me - d + n) % n;
                shmemx_msg_request_t requests[2];
                shmemx_msg_status_t s[2];
                memset(to_here, 0xee, length);
                if (d < 4)
                    come_late(round);
                if (round % 2)
                    shmemx_msg_irecv(WORLD, to_here, length, from, round, &requests[1]);
                shmemx_msg_isend(WORLD, from_here, length, to, round, &requests[0]);
                if (round % 2 == 0)
                    shmemx_msg_irecv(WORLD, to_here, length, from, round, &requests[1]);
                if (d % 2)
                    shmem_barrier_all(); /* which makes progress */
                CHECK(shmemx_msg_waitall(2, requests, s) == 0);
                CHECK(s[1].nbytes == length && s[1].source == from && s[1].tag == round);
                CHECK(requests[0] == SHMEMX_MSG_REQUEST_INVALID);
                CHECK(requests[1] == SHMEMX_MSG_REQUEST_INVALID);
                size_t i = 0;
                while (i < length && to_here[i] == byte_of(i, from, round))
                    i++;
                CHECK(i == length, "byte %zu of %zu from PE %d", i, length, from);
            }
            shmem_barrier_all();
        }
    shmem_free(symmetric);
    free(own);
}

static void truncation(void)
{
    unsigned char *own = calloc(200000, 1);
    for (size_t length = 100; length < 200000; length += 99900) {
        if (me > 0) {
            memset(own, me, length);
            CHECK(shmemx_msg_send(WORLD, own, length, 0, 9) == 0);
            continue;
        }
        for (int pe = 1; pe < n; pe++) {
            shmemx_msg_status_t s;
            memset(own, 0, length);
            CHECK(shmemx_msg_recv(WORLD, own, length / 2, pe, 9, &s) == SHMEMX_MSG_TRUNCATED);
            CHECK(s.nbytes == length && s.error == SHMEMX_MSG_TRUNCATED && s.source == pe);
            CHECK(own[0] == pe && own[length / 2 - 1] == pe && own[length / 2] == 0);
        }
    }
    free(own);
}

static void cancels(void)
{
    char text[8] = "";
    shmemx_msg_request_t request = SHMEMX_MSG_REQUEST_INVALID;
    CHECK(shmemx_msg_cancel(&request) == 0 && shmemx_msg_test(&request, NULL) == 1);
    CHECK(shmemx_msg_irecv(WORLD, text, 8, me, 77, &request) == 0);
    CHECK(shmemx_msg_test(&request, NULL) == 0);
    CHECK(shmemx_msg_cancel(&request) == 1 && request == SHMEMX_MSG_REQUEST_INVALID);
    CHECK(shmemx_msg_irecv(WORLD, text, 8, me, 77, &request) == 0);
    CHECK(shmemx_msg_send(WORLD, "1234567", 8, me, 77) == 0);
    CHECK(shmemx_msg_cancel(&request) == 0);
    CHECK(shmemx_msg_wait(&request, NULL) == 0 && strcmp(text, "1234567") == 0);
}

static void probes(void)
{
    shmemx_msg_status_t s;
    char text[3];
    CHECK(shmemx_msg_iprobe(WORLD, SHMEMX_ANY_SOURCE, 78, &s) == 0);
    shmem_barrier_all();
    come_late(2);
    CHECK(shmemx_msg_send(WORLD, "ab", 3, right_of(me), 78) == 0);
    CHECK(shmemx_msg_probe(WORLD, SHMEMX_ANY_SOURCE, 78, &s) == 0);
    CHECK(s.nbytes == 3 && s.source == left_of(me) && s.tag == 78);
    CHECK(shmemx_msg_iprobe(WORLD, s.source, SHMEMX_ANY_TAG, NULL) == 1);
    CHECK(shmemx_msg_recv(WORLD, text, 3, s.source, 78, NULL) == 0 && text[1] == 'b');
    CHECK(shmemx_msg_iprobe(WORLD, SHMEMX_ANY_SOURCE, 78, &s) == 0);
}

static void several(void)
{
    enum { COUNT = 7 };
    shmemx_msg_request_t requests[COUNT + 1] = {SHMEMX_MSG_REQUEST_INVALID};
    int values[COUNT], sum = 0, expected = 0;
    shmemx_msg_status_t s;
    CHECK(shmemx_msg_testany(1, &requests[COUNT], &s) == SIZE_MAX);
    CHECK(shmemx_msg_waitany(1, &requests[COUNT], &s) == SIZE_MAX);
    CHECK(shmemx_msg_testall(1, &requests[COUNT], NULL) == 1);
    for (int i = 0; i < COUNT; i++)
        shmemx_msg_irecv(WORLD, &values[i], sizeof(int), left_of(me), 100 + i, &requests[i]);
    come_late(1);
    for (int i = COUNT - 1; i >= 0; i--) {
        int value = i * i + me;
        CHECK(shmemx_msg_send(WORLD, &value, sizeof value, right_of(me), 100 + i) == 0);
    }
    for (int i = 0; i < COUNT; i++) {
        size_t index = i % 2 ? shmemx_msg_waitany(COUNT, requests, &s) : SIZE_MAX;
        while (index == SIZE_MAX)
            index = shmemx_msg_testany(COUNT, requests, &s);
        CHECK(s.tag == 100 + (int)index && requests[index] == SHMEMX_MSG_REQUEST_INVALID);
        sum += values[index];
        expected += i * i + left_of(me);
    }
    CHECK(sum == expected);
}

/* Teams have messages of their own, and numbers. */
static void teams(void)
{
    shmem_team_t reversed, even;
    int value = me, got = -1;
    CHECK(shmem_team_split_strided(WORLD, n - 1, -1, n, NULL, 0, &reversed) == 0 || n == 1);
    if (n == 1)
        reversed = SHMEM_TEAM_SHARED;
    int mine = shmem_team_my_pe(reversed);
    shmemx_msg_request_t world, request;
    shmemx_msg_irecv(WORLD, &got, sizeof got, SHMEMX_ANY_SOURCE, SHMEMX_ANY_TAG, &world);
    shmemx_msg_isend(reversed, &value, sizeof value, (mine + 1) % n, 1, &request);
    int other = -1;
    shmemx_msg_status_t s;
    CHECK(shmemx_msg_recv(reversed, &other, sizeof other, SHMEMX_ANY_SOURCE, 1, &s) == 0);
    CHECK(s.source == (mine - 1 + n) % n && other == (me + 1) % n);
    CHECK(shmemx_msg_wait(&request, NULL) == 0);
    CHECK(shmemx_msg_cancel(&world) == 1 && got == -1);
    /* A team that ends forgets messages that were not received, and the next one of its id does not find them. */
    for (int round = 0; n > 1 && round < 3; round++) {
        CHECK(shmem_team_split_strided(WORLD, 0, 1, n, NULL, 0, &even) == 0);
        CHECK(round == 0 || shmemx_msg_iprobe(even, SHMEMX_ANY_SOURCE, round - 1, NULL) == 0);
        CHECK(shmemx_msg_send(even, &value, sizeof value, right_of(me), round) == 0);
        shmem_team_destroy(even);
    }
    CHECK(shmemx_msg_send(SHMEM_TEAM_INVALID, &value, sizeof value, 0, 0) == -1);
    CHECK(shmemx_msg_recv(SHMEM_TEAM_INVALID, &value, sizeof value, 0, 0, NULL) == -1);
    if (n > 1)
        shmem_team_destroy(reversed);
}

/* More than 4 GiB, of which the receiver takes the first bytes. */
static void huge(void)
{
    size_t length = (size_t)5 << 30;
    unsigned char start[100];
    shmemx_msg_status_t s;
    shmemx_msg_request_t request;
    void *zeros = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED)
        return; /* The system gives no address space of this size. */
    memset(start, 1, sizeof start);
    shmemx_msg_isend(WORLD, zeros, length, right_of(me), 3, &request);
    CHECK(shmemx_msg_recv(WORLD, start, 99, left_of(me), 3, &s) == SHMEMX_MSG_TRUNCATED);
    CHECK(s.nbytes == length && start[98] == 0 && start[99] == 1);
    CHECK(shmemx_msg_wait(&request, NULL) == 0);
    munmap(zeros, length);
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {0,    1,    8,     31,    32,     33,      224,    225,
                                     4000, 8192, 8193, 30000, 31000, 262144, 1000003, 5 << 20};
    static const size_t large[] = {64 << 20};
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    is_late = argc > 1 && strcmp(argv[1], "late") == 0;
    if (argc > 1 && strcmp(argv[1], "64m") == 0) {
        pairs(large, 1);
    } else {
        order();
        shmem_barrier_all();
        pairs(lengths, is_late || n > 8 ? 15 : 16);
        truncation();
        cancels();
        probes();
        several();
        teams();
        huge();
    }
    return finish();
}
