/* What the program needs of a library, over OpenSHMEM 1.4 or later. */
#ifndef LIBRARY_SHMEM_H
#define LIBRARY_SHMEM_H

#include <shmem.h>
#include <stdlib.h>

static void library_begin(void)
{
    shmem_init();
}

static void library_end(void)
{
    shmem_finalize();
}

_Noreturn static void library_fail(void)
{
    shmem_global_exit(EXIT_FAILURE);
    abort();
}

static int library_pe(void)
{
    return shmem_my_pe();
}

static int library_pes(void)
{
    return shmem_n_pes();
}

/* Memory of other PEs' transfers; null if there is not enough. Collective, as the barrier. */
static void *library_memory(size_t bytes)
{
    return shmem_malloc(bytes);
}

static void library_barrier(void)
{
    shmem_barrier_all();
}

/* Transfers between memory of the library, and the end of all that have begun. */
static void library_put(void *dest, const void *source, size_t bytes, int pe)
{
    shmem_putmem_nbi(dest, source, bytes, pe);
}

static void library_get(void *dest, const void *source, size_t bytes, int pe)
{
    shmem_getmem_nbi(dest, source, bytes, pe);
}

static void library_complete(int pe)
{
    (void)pe;
    shmem_quiet();
}

/* Sets a word in memory of the library on a PE; what a PE's own word is. */
static void library_set(int *word, int value, int pe)
{
    shmem_int_p(word, value, pe);
    shmem_quiet();
}

static int library_word(int *word)
{
    return shmem_int_g(word, shmem_my_pe());
}

#endif
