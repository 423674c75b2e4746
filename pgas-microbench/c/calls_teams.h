/* Collectives over all PEs of OpenSHMEM 1.5: on the world team. */
#ifndef CALLS_TEAMS_H
#define CALLS_TEAMS_H

#include <shmem.h>

#include "collective_data.h"

static void prepare_calls(const struct transfer *t)
{
    (void)t; /* teams need no memory of the program */
}

static void call_broadcast(long *dest, const long *source, size_t count, int from)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, count, from);
}

static void call_collect(long *dest, const long *source, size_t count)
{
    shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, count);
}

static void call_fcollect(long *dest, const long *source, size_t count)
{
    shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, count);
}

static void call_alltoall(long *dest, const long *source, size_t count)
{
    shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, count);
}

static void call_alltoalls(long *dest, const long *source, size_t count)
{
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, source, ALLTOALLS_STRIDE, ALLTOALLS_STRIDE, count);
}

static void call_reduce(double *dest, const double *source, size_t count)
{
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, count);
}

static void call_reduce_int(int *dest, const int *source, size_t count)
{
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, dest, source, count);
}

#endif
