/* A put, and then a word by which the other PE knows that it has arrived. */
#ifndef PUT_SIGNAL_H
#define PUT_SIGNAL_H

#include <shmem.h>

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
#define PUT_SIGNAL(dest, source, bytes, signal, value, pe) \
    shmem_putmem_signal(dest, source, bytes, signal, value, SHMEM_SIGNAL_SET, pe)
#else
#define PUT_SIGNAL(dest, source, bytes, signal, value, pe) \
    (shmem_putmem(dest, source, bytes, pe), shmem_fence(), shmem_uint64_p(signal, value, pe))
#endif

#endif
