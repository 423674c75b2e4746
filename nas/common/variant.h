/* Copies between PEs in the two variants of a benchmark, chosen at build time:
 *
 *   VARIANT_PUTGET   calls of put and get;
 *   VARIANT_PTR      loads and stores through the addresses that shmem_ptr gives.
 *
 * Neither variant orders its accesses: a barrier, or a fence and a flag, must follow. */
#ifndef VARIANT_H
#define VARIANT_H

#include <shmem.h>
#include <stddef.h>
#include <string.h>

#if defined(VARIANT_PUTGET)
#define VARIANT "put/get"
#elif defined(VARIANT_PTR)
#define VARIANT "shmem_ptr"
#else
#error "define VARIANT_PUTGET or VARIANT_PTR"
#endif

#ifdef VARIANT_PUTGET

/* To `dest` on PE `pe`, from local `source`. */
static inline void copy_to(double *dest, const double *source, size_t n, int pe)
{
    shmem_double_put(dest, source, n, pe);
}

/* To local `dest`, from `source` on PE `pe`. */
static inline void copy_from(double *dest, const double *source, size_t n, int pe)
{
    shmem_double_get(dest, source, n, pe);
}

/* Address of the n integers at `source` on PE `pe`, valid until the next barrier: a copy in `room`,
 * or the remote integers themselves. */
static inline const int *view_ints(int *room, const int *source, size_t n, int pe)
{
    shmem_int_get(room, source, n, pe);
    return room;
}

#else

static inline void copy_to(double *dest, const double *source, size_t n, int pe)
{
    memcpy(shmem_ptr(dest, pe), source, n * sizeof *dest);
}

static inline void copy_from(double *dest, const double *source, size_t n, int pe)
{
    memcpy(dest, shmem_ptr(source, pe), n * sizeof *dest);
}

static inline const int *view_ints(int *room, const int *source, size_t n, int pe)
{
    (void)room;
    (void)n;
    return shmem_ptr(source, pe);
}

#endif

#endif
