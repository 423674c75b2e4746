/* The exchange of ISx by OpenSHMEM: each PE reserves room in both PEs' arrays by their counters, copies half of its
 * keys to its own, and puts the other half to the other PE's. */
#ifndef ISX_H
#define ISX_H

#include "implementation.h"
#include <string.h>

static long long filled; /* elements of this PE's array that are filled */

static void isx(size_t n)
{
    const size_t half = n / 2;
    const int peer = 1 - me;
    filled = 0;
    shmem_barrier_all();
    const long long own = shmem_longlong_atomic_fetch_add(&filled, (long long)half, me);
    memcpy(dest + own, source, half * sizeof *dest);
    const long long at = shmem_longlong_atomic_fetch_add(&filled, (long long)half, peer);
    shmem_double_put(dest + at, source + half, half, peer);
    shmem_barrier_all();
}

#endif
