/* A profiling tool as the standard's profiling chapter describes it: it defines some routines
 * itself, counts the calls and passes them on to the pshmem_ names. */
#ifndef SHMEM_NO_INLINE
#define SHMEM_NO_INLINE
#endif
#include <pshmem.h>
#include <shmem.h>

#include <stdio.h>

static struct {
    long put, p, get, fetch_add, barrier, malloc_calls, reduce;
} calls;

void shmem_int_put(int *dest, const int *source, size_t nelems, int pe)
{
    calls.put++;
    pshmem_int_put(dest, source, nelems, pe);
}

void shmem_long_p(long *dest, long value, int pe)
{
    calls.p++;
    pshmem_long_p(dest, value, pe);
}

void shmem_double_get(double *dest, const double *source, size_t nelems, int pe)
{
    calls.get++;
    pshmem_double_get(dest, source, nelems, pe);
}

long shmem_long_atomic_fetch_add(long *dest, long value, int pe)
{
    calls.fetch_add++;
    return pshmem_long_atomic_fetch_add(dest, value, pe);
}

void shmem_barrier_all(void)
{
    calls.barrier++;
    pshmem_barrier_all();
}

void *shmem_malloc(size_t size)
{
    calls.malloc_calls++;
    return pshmem_malloc(size);
}

int shmem_int_sum_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce)
{
    calls.reduce++;
    return pshmem_int_sum_reduce(team, dest, source, nreduce);
}

void shmem_finalize(void)
{
    printf("tool: PE %d put %ld p %ld get %ld fetch_add %ld barrier %ld malloc %ld reduce %ld\n",
           pshmem_my_pe(), calls.put, calls.p, calls.get, calls.fetch_add, calls.barrier,
           calls.malloc_calls, calls.reduce);
    fflush(stdout);
    pshmem_finalize();
}
