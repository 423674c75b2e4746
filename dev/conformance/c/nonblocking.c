/* Non-blocking collectives (extension): results, order, several teams, requests that persist, a PE that waits
 * elsewhere. */
#include <complex.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "end_request.h"

#define WORLD SHMEM_TEAM_WORLD
/* From short ones, which library memory holds, to what all PEs share. */
#ifdef BRIEF
#define LARGEST 5000
#define ROUNDS 3
#else
#define LARGEST 70000
#define ROUNDS 20
#endif
static const size_t SIZES[] = {0, 1, 7, 50, 300, LARGEST};
#define AT_ONCE 12

static int me, n;
static long *dest, *source;

static long value(int pe, size_t i, int round)
{
    return (long)i * 31 + pe * 1000003L + round;
}

static void fill(size_t length, int round)
{
    for (size_t i = 0; i < length; i++)
        source[i] = value(me, i, round);
    memset(dest, 0xff, LARGEST * sizeof *dest);
}

static void each(shmem_team_t team, size_t length, int round)
{
    int team_me = shmem_team_my_pe(team), size = shmem_team_n_pes(team), root = round % size;
    size_t part = length / (size_t)size;
    shmemx_req_h request;
    int from = shmem_team_translate_pe(team, root, WORLD);

    fill(length, round);
    CHECK(shmemx_broadcast_nb(team, dest, source, length, root, &request) == 0);
    end_request(&request, round);
    for (size_t i = 0; i < length; i++)
        CHECK(dest[i] == value(from, i, round));
    shmem_team_sync(team);

    fill(length, round);
    CHECK(shmemx_fcollect_nb(team, dest, source, part, &request) == 0);
    end_request(&request, round + 1);
    for (int k = 0; k < size; k++)
        for (size_t i = 0; i < part; i++)
            CHECK(dest[(size_t)k * part + i] == value(shmem_team_translate_pe(team, k, WORLD), i, round));
    shmem_team_sync(team);

    fill(length, round);
    size_t mine = team_me % 2 ? part : part / 2, at = 0;
    CHECK(shmemx_collect_nb(team, dest, source, mine, &request) == 0);
    end_request(&request, round + 2);
    for (int k = 0; k < size; k++) {
        size_t theirs = k % 2 ? part : part / 2;
        for (size_t i = 0; i < theirs; i++)
            CHECK(dest[at + i] == value(shmem_team_translate_pe(team, k, WORLD), i, round));
        at += theirs;
    }
    shmem_team_sync(team);

    fill(length, round);
    CHECK(shmemx_alltoall_nb(team, dest, source, part, &request) == 0);
    end_request(&request, round + 3);
    for (int k = 0; k < size; k++)
        for (size_t i = 0; i < part; i++)
            CHECK(dest[(size_t)k * part + i] ==
                  value(shmem_team_translate_pe(team, k, WORLD), (size_t)team_me * part + i, round));
    shmem_team_sync(team);

    fill(length, round);
    long pes = 0;
    for (int k = 0; k < size; k++)
        pes += shmem_team_translate_pe(team, k, WORLD);
    CHECK(shmemx_sum_reduce_nb(team, dest, source, length, &request) == 0);
    end_request(&request, round);
    for (size_t i = 0; i < length; i++)
        CHECK(dest[i] == size * value(0, i, round) + pes * 1000003L);
    CHECK(shmemx_max_reduce_nb(team, source, source, length, &request) == 0);
    end_request(&request, round + 1);
    shmem_team_sync(team);

    fill(length, round);
    pes = 0;
    for (int k = 0; k <= team_me; k++)
        pes += shmem_team_translate_pe(team, k, WORLD);
    CHECK(shmemx_sum_inscan_nb(team, dest, source, length, &request) == 0);
    end_request(&request, round + 2);
    for (size_t i = 0; i < length; i++)
        CHECK(dest[i] == (team_me + 1) * value(0, i, round) + pes * 1000003L);
    shmem_team_sync(team);
}

/* Every type of elements has its operators. */
#define SUM(TYPE)                                                                                  \
    do {                                                                                           \
        static TYPE from, to;                                                                      \
        shmemx_req_h request;                                                                      \
        from = 1;                                                                                  \
        shmemx_sum_reduce_nb(WORLD, &to, &from, 1, &request);                                      \
        shmemx_req_wait(&request);                                                                 \
        CHECK(to == (TYPE)n);                                                                      \
        shmemx_prod_reduce_nb(WORLD, &to, &from, 1, &request);                                     \
        shmemx_req_wait(&request);                                                                 \
        CHECK(to == 1);                                                                            \
    } while (0)
#define ORDER(TYPE)                                                                                \
    do {                                                                                           \
        static TYPE from, to;                                                                      \
        shmemx_req_h request;                                                                      \
        SUM(TYPE);                                                                                 \
        from = (TYPE)(me + 1);                                                                     \
        shmemx_min_reduce_nb(WORLD, &to, &from, 1, &request);                                      \
        shmemx_req_wait(&request);                                                                 \
        CHECK(to == 1);                                                                            \
        shmemx_max_reduce_nb(WORLD, &to, &from, 1, &request);                                      \
        shmemx_req_wait(&request);                                                                 \
        CHECK(to == (TYPE)n);                                                                      \
    } while (0)
#define BITS(TYPE)                                                                                 \
    do {                                                                                           \
        static TYPE from, to;                                                                      \
        shmemx_req_h request;                                                                      \
        ORDER(TYPE);                                                                               \
        from = me ? 6 : 3;                                                                         \
        shmemx_and_reduce_nb(WORLD, &to, &from, 1, &request);                                      \
        shmemx_req_wait(&request);                                                                 \
        CHECK(to == (n > 1 ? 2 : 3));                                                              \
        shmemx_or_reduce_nb(WORLD, &to, &from, 1, &request);                                       \
        shmemx_req_wait(&request);                                                                 \
        CHECK(to == (n > 1 ? 7 : 3));                                                              \
        shmemx_xor_reduce_nb(WORLD, &to, &from, 1, &request);                                      \
        shmemx_req_wait(&request);                                                                 \
        CHECK(to == (n % 2 ? 3 : 5));                                                              \
    } while (0)

static void types(void)
{
    BITS(char);
    BITS(signed char);
    BITS(short);
    BITS(int);
    BITS(long);
    BITS(long long);
    BITS(unsigned char);
    BITS(unsigned short);
    BITS(unsigned int);
    BITS(unsigned long);
    BITS(unsigned long long);
    ORDER(float);
    ORDER(double);
    ORDER(long double);
    SUM(float _Complex);
    SUM(double _Complex);
}

/* Many at once on two teams and beside collectives that wait, begun by PEs that are not there at the same time. */
static void many(shmem_team_t reversed)
{
    static long from[2][AT_ONCE], to[2][AT_ONCE], blocking, one = 1;
    shmemx_req_h requests[2][AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        for (int t = 0; t < 2; t++)
            from[t][i] = me + i + t;
        shmemx_sum_reduce_nb(WORLD, &to[0][i], &from[0][i], 1, &requests[0][i]);
        if (i % 3 == me % 3)
            shmem_sum_reduce(WORLD, &blocking, &one, 1);
        shmemx_max_reduce_nb(reversed, &to[1][i], &from[1][i], 1, &requests[1][i]);
        if (i % 3 != me % 3)
            shmem_sum_reduce(WORLD, &blocking, &one, 1);
        CHECK(blocking == n);
    }
    /* The two teams in another order on each PE, and the last of a team before its first. */
    for (int k = 0; k < 2; k++) {
        int t = (me + k) % 2;
        CHECK(shmemx_req_wait(&requests[t][AT_ONCE - 1]) == 0);
        for (int i = 0; i < AT_ONCE; i++) {
            CHECK(shmemx_req_test(&requests[t][i]) == 0);
            CHECK(to[t][i] == (t ? n - 1 + i + 1 : n * (n - 1) / 2 + n * i));
        }
    }
    for (int i = 0; i < AT_ONCE; i++)
        shmemx_sync_nb(i % 2 ? WORLD : reversed, &requests[0][i]);
    for (int left = AT_ONCE; left > 0; left--)
        CHECK(shmemx_req_waitany(AT_ONCE, requests[0]) < AT_ONCE);
    CHECK(shmemx_req_waitany(AT_ONCE, requests[0]) == SIZE_MAX);
}

/* Requests that start several times: alone, many at once beside collectives of the other form, in any order of their
 * ends; of few bytes, in one exchange, and of more. */
static void persistent(shmem_team_t team)
{
    enum { REQUESTS = 6 };
    static long short_sum, blocks[64], all[64], scanned, root_value;
    int team_me = shmem_team_my_pe(team), size = shmem_team_n_pes(team), last = size - 1;
    size_t length = 200;
    long pes = 0;
    shmemx_req_h requests[REQUESTS], other;
    if (size > 64)
        return;
    for (int k = 0; k < size; k++)
        pes += shmem_team_translate_pe(team, k, WORLD);
    CHECK(shmemx_sum_reduce_init(team, &short_sum, source, 1, &requests[0]) == 0);
    CHECK(shmemx_fcollect_init(team, all, source, 1, &requests[1]) == 0);
    CHECK(shmemx_alltoall_init(team, blocks, source, 1, &requests[2]) == 0);
    CHECK(shmemx_sum_inscan_init(team, &scanned, source, 1, &requests[3]) == 0);
    CHECK(shmemx_broadcast_init(team, &root_value, source, 1, last, &requests[4]) == 0);
    CHECK(shmemx_sum_reduce_init(team, dest, source, length, &requests[5]) == 0);
    /* One that has not started is complete. */
    CHECK(shmemx_req_test(&requests[0]) == 0 && requests[0] != SHMEMX_REQ_INVALID);
    CHECK(shmemx_req_waitany(REQUESTS, requests) == SIZE_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        int from = shmem_team_translate_pe(team, last, WORLD);
        if (round % 3 == 2 && team_me == 0)
            shmemx_req_testany(0, NULL);
        fill(length, round);
        /* One after the other, or all at once, or behind one that some still execute. */
        if (round % 3 == 1)
            shmemx_sync_nb(team, &other);
        for (int i = 0; i < REQUESTS; i++) {
            shmemx_req_start(&requests[i]);
            if (round % 3 == 0) {
                if (i % 2 == 0)
                    CHECK(shmemx_req_wait(&requests[i]) == 0);
                else
                    while (shmemx_req_test(&requests[i]) != 0)
                        ;
            }
        }
        if (round % 3 == 1)
            shmemx_req_wait(&other);
        if (round % 3 == 2)
            for (int left = REQUESTS; left > 0; left--)
                CHECK(shmemx_req_waitany(REQUESTS, requests) < REQUESTS);
        CHECK(shmemx_req_waitall(REQUESTS, requests) == 0);
        for (int i = 0; i < REQUESTS; i++)
            CHECK(requests[i] != SHMEMX_REQ_INVALID);
        CHECK(short_sum == size * value(0, 0, round) + pes * 1000003L);
        for (size_t i = 0; i < length; i++)
            CHECK(dest[i] == size * value(0, i, round) + pes * 1000003L);
        for (int k = 0; k < size; k++) {
            int pe = shmem_team_translate_pe(team, k, WORLD);
            CHECK(all[k] == value(pe, 0, round));
            CHECK(blocks[k] == value(pe, (size_t)team_me, round));
        }
        CHECK(root_value == value(from, 0, round));
        if (team_me == last)
            CHECK(scanned == short_sum);
        shmem_team_sync(team);
    }
    for (int i = 0; i < REQUESTS; i++) {
        shmemx_req_free(&requests[i]);
        CHECK(requests[i] == SHMEMX_REQ_INVALID);
    }
    shmem_team_sync(team);
}

/* A PE that has started a collective of few bytes computes; the others go on. */
static void start_goes_on(void)
{
    static volatile long flag;
    static long sum, one = 1;
    shmemx_req_h request;
    shmemx_sum_reduce_init(WORLD, &sum, &one, 1, &request);
    shmem_barrier_all();
    shmemx_req_start(&request);
    if (me == 0 && n == 2 && shmem_ptr(&sum, 1) != NULL && getenv("SHMEM_CHECK") == NULL) {
        /* Polled in the program: the library executes nothing here. */
        while (flag == 0)
            ;
    }
    shmemx_req_wait(&request);
    CHECK(sum == n);
    if (me == 1)
        shmem_long_p((long *)&flag, 1, 0);
    shmemx_req_free(&request);
    shmem_barrier_all();
}

/* A PE that has begun a collective waits for something else, which comes after the collective alone: it goes on. */
static void beside_a_wait(void)
{
    static uint64_t signal;
    shmemx_req_h request;
    shmemx_sum_reduce_nb(WORLD, dest, source, LARGEST, &request);
    if (me == n - 1) {
        shmemx_req_wait(&request);
        for (int pe = 0; pe < n; pe++)
            shmem_signal_add(&signal, 1, pe);
    } else {
        shmem_signal_wait_until(&signal, SHMEM_CMP_GE, 1);
        shmemx_req_wait(&request);
    }
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    dest = shmem_malloc(LARGEST * sizeof *dest);
    source = shmem_malloc(LARGEST * sizeof *source);
    shmem_team_t reversed, evens = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(WORLD, n - 1, -1, n, NULL, 0, &reversed);
    shmem_team_split_strided(WORLD, 0, 2, (n + 1) / 2, NULL, 0, &evens);

    shmemx_req_h request = (shmemx_req_h)&request;
    if (getenv("SHMEM_CHECK") == NULL)
        CHECK(shmemx_sync_nb(SHMEM_TEAM_INVALID, &request) == -1 && request == SHMEMX_REQ_INVALID);
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        each(WORLD, SIZES[k], (int)k);
        each(reversed == SHMEM_TEAM_INVALID ? WORLD : reversed, SIZES[k], (int)k + 1);
        if (evens != SHMEM_TEAM_INVALID)
            each(evens, SIZES[k], (int)k + 2);
        shmem_barrier_all();
    }
    types();
    for (int i = 0; i < ROUNDS; i++)
        many(reversed == SHMEM_TEAM_INVALID ? WORLD : reversed);
    persistent(WORLD);
    persistent(reversed == SHMEM_TEAM_INVALID ? WORLD : reversed);
    if (evens != SHMEM_TEAM_INVALID)
        persistent(evens);
    shmem_barrier_all();
    start_goes_on();
    fill(LARGEST, 0);
    shmem_barrier_all();
    beside_a_wait();

    /* Teams with the same ids, one after the other; and what the end of a team and of the job completes. */
    for (int i = 0; i < 5; i++) {
        shmem_team_t team;
        shmem_team_split_strided(WORLD, 0, 1, n, NULL, 0, &team);
        for (int k = 0; k <= i; k++) {
            shmemx_sum_reduce_nb(team, &dest[k], &source[k], 1, &request);
            shmemx_req_free(&request);
        }
        shmem_team_destroy(team);
        for (int k = 0; k <= i; k++)
            CHECK(dest[k] == n * value(0, (size_t)k, 0) + (long)n * (n - 1) / 2 * 1000003L);
    }
    shmemx_sync_nb(WORLD, &request);
    return finish();
}
