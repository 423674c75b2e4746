/* Loops that vectorise if p and g are compiled to a store and a load, and one that copies objects of any type. */
#include <shmem.h>

void scaled_p(double *dest, const double *source, long n, double factor, int pe)
{
    for (long i = 0; i < n; i++)
        shmem_double_p(&dest[i], factor * source[i], pe);
}

void scaled_g(double *dest, const double *source, long n, double factor, int pe)
{
    for (long i = 0; i < n; i++)
        dest[i] = factor * shmem_double_g(&source[i], pe);
}

void untyped_get(void *dest, const void *source, long n, int pe)
{
    for (long i = 0; i < n; i++)
        shmem_get64((long *)dest + i, (const long *)source + i, 1, pe);
}
