/* Teams at work at the same time: disjoint ones, and ones that share members in other orders, by
 * one thread in turn and by several threads. */
#include "call.h"

#include <pthread.h>

enum { CAPACITY = 64 << 10, LONGEST = 2000, THREADS = 3, ROUNDS = 25 };

enum { WORLD, REVERSED, ROW, COLUMN, HALF, TEAMS };
static const char *const names[TEAMS] = {"world", "reversed", "row", "column", "half"};
static Group groups[TEAMS], of_threads[THREADS];

static void make_teams(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), low = (n + 1) / 2;
    shmem_team_t teams[TEAMS], halves[2] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID};
    teams[WORLD] = SHMEM_TEAM_WORLD;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &teams[REVERSED]);
    REQUIRE(shmem_team_split_2d(teams[REVERSED], 2, NULL, 0, &teams[ROW], NULL, 0,
                                &teams[COLUMN]) == 0);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, low, NULL, 0, &halves[0]);
    if (n > low)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n - low, NULL, 0, &halves[1]);
    teams[HALF] = halves[me < low ? 0 : 1];
    for (int t = 0; t < TEAMS; t++) {
        group_arrays(&groups[t], CAPACITY);
        REQUIRE(group_of_team(&groups[t], names[t], teams[t]), "%s", names[t]);
    }
}

/* In turn, all PEs in the same order; a fast PE is in the next team while a slow one is not. */
static void one_thread(void)
{
    uint32_t order = 7, states[TEAMS] = {1, 2, 3, 4, 5};
    for (int round = 0; round < 4 * ROUNDS; round++) {
        int t = (int)(next_random(&order) % TEAMS);
        random_calls(&groups[t], &states[t], LONGEST);
    }
}

/* The disjoint ones alone, so that they do not keep in step by what they share. */
static void disjoint(void)
{
    int laps = 1 + shmem_team_my_pe(SHMEM_TEAM_WORLD) * 2 / shmem_n_pes();
    uint32_t state = 9;
    for (int round = 0; round < laps * ROUNDS; round++)
        random_calls(&groups[HALF], &state, LONGEST);
}

static void *work(void *argument)
{
    intptr_t thread = (intptr_t)argument;
    uint32_t state = 100 + (uint32_t)thread;
    for (int round = 0; round < ROUNDS; round++)
        random_calls(&of_threads[thread], &state, LONGEST);
    return NULL;
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == SHMEM_THREAD_MULTIPLE);
    make_teams();
    one_thread();
    disjoint();
    shmem_barrier_all();
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        shmem_team_t team;
        int n = shmem_n_pes(), reversed = t % 2;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, reversed ? n - 1 : 0, reversed ? -1 : 1, n, NULL,
                                 0, &team);
        group_arrays(&of_threads[t], CAPACITY);
        REQUIRE(group_of_team(&of_threads[t], "thread's", team));
    }
    for (intptr_t t = 0; t < THREADS; t++)
        REQUIRE(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    return finish();
}
