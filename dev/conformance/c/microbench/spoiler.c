/* Between a microbenchmark and the library: spoils an operation of each kind, which the program must notice. */
#include <pshmem.h>
#include <shmem.h>

void shmem_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    pshmem_putmem(dest, source, bytes - 1, pe);
}

void shmem_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *at, uint64_t signal, int how, int pe)
{
    pshmem_putmem_signal(dest, source, bytes / 2, at, signal, how, pe);
}

long shmem_long_atomic_fetch_add(long *dest, long value, int pe)
{
    return pshmem_long_atomic_fetch_add(dest, value + 1, pe);
}

int shmem_double_sum_reduce(shmem_team_t team, double *dest, const double *source, size_t count)
{
    return pshmem_double_sum_reduce(team, dest, source, count - 1);
}

void shmem_long_put_nbi(long *dest, const long *source, size_t count, int pe)
{
    pshmem_long_put_nbi(dest, source, count - 1, pe);
}

void shmem_double_iput(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)
{
    pshmem_double_iput(dest, source, dst, sst, nelems - 1, pe);
}

void shmem_ibput64(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
{
    pshmem_ibput64(dest, source, dst, sst, bsize, nblocks - 1, pe);
}
