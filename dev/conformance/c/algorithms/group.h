/* A group of PEs, team or active set, with the symmetric arrays of its collectives. */
#ifndef ALGORITHMS_GROUP_H
#define ALGORITHMS_GROUP_H

#include "check.h"

enum { MEMBERS = 4096, ARRAYS = 4, PSYNCS = 2 * ARRAYS, GUARD = 64 };

typedef struct {
    const char *name;
    /* SHMEM_TEAM_INVALID: an active set. */
    shmem_team_t team;
    int start, log_stride;
    int size, me;
    /* Numbers of the members in the world. */
    int pes[MEMBERS];
    /* Work arrays of an active set, used in turn; one more for its synchronisation. */
    long (*psyncs)[SHMEM_SYNC_SIZE];
    int next_psync;
    /* Bytes of each array. */
    size_t capacity;
    char *source[ARRAYS], *dest[ARRAYS];
    /* Of to_all routines. */
    void *work;
} Group;

static int world_pe(const Group *g, int member)
{
    return g->pes[member];
}

static void group_arrays(Group *g, size_t capacity)
{
    g->capacity = capacity;
    for (int i = 0; i < ARRAYS; i++) {
        g->source[i] = checked_malloc(capacity + GUARD);
        g->dest[i] = checked_malloc(capacity + GUARD);
    }
    g->work = checked_malloc(capacity / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE * 16);
    g->psyncs = checked_malloc((PSYNCS + 1) * sizeof *g->psyncs);
    for (int i = 0; i <= PSYNCS; i++)
        for (int k = 0; k < SHMEM_SYNC_SIZE; k++)
            g->psyncs[i][k] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
}

__attribute__((unused)) static void group_free(Group *g)
{
    for (int i = 0; i <= PSYNCS; i++)
        for (int k = 0; k < SHMEM_SYNC_SIZE; k++)
            CHECK(g->psyncs[i][k] == SHMEM_SYNC_VALUE, "%s: pSync %d word %d", g->name, i, k);
    shmem_free(g->psyncs);
    shmem_free(g->work);
    for (int i = 0; i < ARRAYS; i++) {
        shmem_free(g->dest[i]);
        shmem_free(g->source[i]);
    }
}

/* Whether this PE is in the group; fills in the rest. */
static int group_of_team(Group *g, const char *name, shmem_team_t team)
{
    if (team == SHMEM_TEAM_INVALID)
        return 0;
    g->name = name;
    g->team = team;
    g->size = shmem_team_n_pes(team);
    g->me = shmem_team_my_pe(team);
    for (int i = 0; i < g->size; i++)
        g->pes[i] = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
    CHECK(world_pe(g, g->me) == shmem_my_pe());
    return 1;
}

__attribute__((unused)) static int
group_of_set(Group *g, const char *name, int start, int log_stride, int size)
{
    int stride = 1 << log_stride, distance = shmem_my_pe() - start;
    if (size < 1 || start + (size - 1) * stride >= shmem_n_pes())
        return 0;
    if (distance < 0 || distance % stride != 0 || distance / stride >= size)
        return 0;
    g->name = name;
    g->team = SHMEM_TEAM_INVALID;
    g->start = start;
    g->log_stride = log_stride;
    g->size = size;
    for (int i = 0; i < size; i++)
        g->pes[i] = start + i * stride;
    g->me = distance / stride;
    return 1;
}

static long *next_psync(Group *g)
{
    return g->psyncs[g->next_psync++ % PSYNCS];
}

static void group_sync(Group *g)
{
    if (g->team != SHMEM_TEAM_INVALID)
        CHECK(shmem_team_sync(g->team) == 0);
    else
        shmem_sync(g->start, g->log_stride, g->size, g->psyncs[PSYNCS]);
}

#endif
