/* Collectives of PEs on several sockets: on the world, on teams with strides and of one socket, on active sets, of
 * sizes of all algorithms, while PEs come at different times. */
#include "check.h"

#include <sched.h>
#include <string.h>

enum { ROUNDS = REPEAT(10, 1), BARRIERS = REPEAT(50, 10), BROADCASTS = REPEAT(100, 30) };
enum { LONGEST = 5000, MOST_PES = 64 };

/* In elements of 8 bytes: with the flags, in the ring, in buffers, and shared. */
#ifdef BRIEF
static const size_t sizes[] = {1, 40, 256, 700};
#else
static const size_t sizes[] = {1, 6, 7, 40, 55, 256, 700, LONGEST};
#endif
enum { SIZES = sizeof sizes / sizeof *sizes };

static long source[LONGEST], dest[LONGEST * MOST_PES];
static long pSync[SHMEM_REDUCE_SYNC_SIZE];
static long pSync2[SHMEM_BCAST_SYNC_SIZE];
static long pSync3[SHMEM_BARRIER_SYNC_SIZE];
static long pWrk[LONGEST / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long arrived;

static long value(int pe, size_t i, int round)
{
    return 1000003L * (pe + 1) + 17 * (long)i + round;
}

static void come_late(int me, int round)
{
    for (int i = (me * 7 + round * 3) % 5; i > 0; i--)
        sched_yield();
}

static void on_team(shmem_team_t team, int round)
{
    if (team == SHMEM_TEAM_INVALID)
        return;
    int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
    for (int s = 0; s < SIZES; s++) {
        size_t count = sizes[s];
        for (size_t i = 0; i < count; i++)
            source[i] = value(me, i, round);
        come_late(me, round + s);
        CHECK(shmem_long_sum_reduce(team, dest, source, count) == 0);
        for (size_t i = 0; i < count; i++) {
            long sum = 0;
            for (int pe = 0; pe < n; pe++)
                sum += value(pe, i, round);
            CHECK(dest[i] == sum);
        }
        CHECK(shmem_team_sync(team) == 0);
        /* In place. */
        memcpy(dest, source, count * sizeof *dest);
        CHECK(shmem_team_sync(team) == 0);
        CHECK(shmem_long_max_reduce(team, dest, dest, count) == 0);
        for (size_t i = 0; i < count; i++)
            CHECK(dest[i] == value(n - 1, i, round));
        CHECK(shmem_team_sync(team) == 0);
        int root = (round + s) % n;
        come_late(me, s);
        CHECK(shmem_long_broadcast(team, dest, source, count, root) == 0);
        for (size_t i = 0; i < count; i++)
            CHECK(dest[i] == value(root, i, round));
        CHECK(shmem_team_sync(team) == 0);
        CHECK(shmem_long_fcollect(team, dest, source, count) == 0);
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < count; i++)
                CHECK(dest[pe * count + i] == value(pe, i, round));
        CHECK(shmem_team_sync(team) == 0);
        size_t mine = count > (size_t)me ? count - (size_t)me : 1;
        CHECK(shmem_long_collect(team, dest, source, mine) == 0);
        size_t at = 0;
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < (count > (size_t)pe ? count - (size_t)pe : 1); i++)
                CHECK(dest[at++] == value(pe, i, round));
        CHECK(shmem_team_sync(team) == 0);
    }
    /* Roots that run ahead. */
    for (int i = 0; i < BROADCASTS; i++) {
        long word = 31L * i + round;
        source[i] = me == i % n ? word : -1;
        CHECK(shmem_long_broadcast(team, dest + i, source + i, 1, i % n) == 0);
        CHECK(dest[i] == word);
    }
    CHECK(shmem_team_sync(team) == 0);
}

static void split(int start, int stride, int size, int round)
{
    shmem_team_t team;
    if (size < 1)
        return;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0);
    on_team(team, round);
    if (team != SHMEM_TEAM_INVALID)
        shmem_team_destroy(team);
}

static void on_active_set(int n, int round)
{
    int me = shmem_my_pe(), size = (n + 1) / 2;
    if (me % 2 == 0) {
        for (size_t i = 0; i < 700; i++)
            source[i] = value(me / 2, i, round);
        shmem_long_sum_to_all(dest, source, 700, 0, 1, size, pWrk, pSync);
        for (size_t i = 0; i < 700; i++) {
            long sum = 0;
            for (int pe = 0; pe < size; pe++)
                sum += value(pe, i, round);
            CHECK(dest[i] == sum);
        }
        int root = round % size;
        memset(dest, 0, 700 * sizeof *dest);
        shmem_barrier(0, 1, size, pSync3);
        shmem_broadcast64(dest, source, 700, root, 0, 1, size, pSync2);
        for (size_t i = 0; i < 700; i++)
            CHECK(dest[i] == (me / 2 == root ? 0 : value(root, i, round)));
    }
    shmem_barrier_all();
}

/* No PE leaves a barrier before all have come. */
static void barriers(int n)
{
    for (int i = 1; i <= BARRIERS; i++) {
        come_late(shmem_my_pe(), i);
        shmem_long_atomic_inc(&arrived, 0);
        shmem_barrier_all();
        CHECK(shmem_long_atomic_fetch(&arrived, 0) == (long)i * n);
        shmem_barrier_all();
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        arrived = 0;
    shmem_barrier_all();
}

int main(void)
{
    for (size_t i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        pSync[i] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
        pSync2[i] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        pSync3[i] = SHMEM_SYNC_VALUE;
    shmem_init();
    int n = shmem_n_pes();
    CHECK(n <= MOST_PES);
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++) {
        barriers(n);
        on_team(SHMEM_TEAM_WORLD, round);
        split(0, 2, (n + 1) / 2, round);
        split(n - 1, -1, n, round);
        split(0, 1, n / 2, round);
        split(n / 2, 1, n - n / 2, round);
        split(1, 3, (n + 1) / 3, round);
        on_active_set(n, round);
    }
    return finish();
}
