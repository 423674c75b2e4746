/* What the program needs of a library, over MPI-3: puts and gets in windows, which are in shared memory where all
 * PEs are on one node, in passive target mode. */
#ifndef LIBRARY_MPI_H
#define LIBRARY_MPI_H

#include <mpi.h>
#include <stdlib.h>

enum { MOST_WINDOWS = 4 };

static struct {
    char *base;
    size_t bytes;
    MPI_Win window;
} windows[MOST_WINDOWS];
static int window_count;

static void library_begin(void)
{
    MPI_Init(NULL, NULL);
}

static void library_end(void)
{
    while (window_count > 0) {
        MPI_Win *window = &windows[--window_count].window;
        MPI_Win_unlock_all(*window);
        MPI_Win_free(window);
    }
    MPI_Finalize();
}

_Noreturn static void library_fail(void)
{
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    abort();
}

static int library_pe(void)
{
    int pe;
    MPI_Comm_rank(MPI_COMM_WORLD, &pe);
    return pe;
}

static int library_pes(void)
{
    int pes;
    MPI_Comm_size(MPI_COMM_WORLD, &pes);
    return pes;
}

/* Memory of other PEs' transfers; null if there is not enough. Collective, as the barrier. */
static void *library_memory(size_t bytes)
{
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int here;
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    void *base = NULL;
    MPI_Win window;
    if (here == library_pes())
        MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &base, &window);
    else
        MPI_Win_allocate((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &base, &window);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    windows[window_count].base = base;
    windows[window_count].bytes = bytes;
    windows[window_count++].window = window;
    return base;
}

static void library_barrier(void)
{
    for (int i = 0; i < window_count; i++)
        MPI_Win_sync(windows[i].window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < window_count; i++)
        MPI_Win_sync(windows[i].window);
}

/* The window that an address belongs to. */
static int window_of(const void *address)
{
    for (int i = 0; i < window_count; i++) {
        const char *base = windows[i].base;
        if ((const char *)address >= base && (const char *)address < base + windows[i].bytes)
            return i;
    }
    library_fail();
}

/* Transfers between memory of the library, and the end of all that have begun. */
static void library_put(void *dest, const void *source, size_t bytes, int pe)
{
    const int w = window_of(dest);
    const MPI_Aint at = (char *)dest - windows[w].base;
    MPI_Put(source, (int)bytes, MPI_BYTE, pe, at, (int)bytes, MPI_BYTE, windows[w].window);
}

static void library_get(void *dest, const void *source, size_t bytes, int pe)
{
    const int w = window_of(source);
    const MPI_Aint at = (const char *)source - windows[w].base;
    MPI_Get(dest, (int)bytes, MPI_BYTE, pe, at, (int)bytes, MPI_BYTE, windows[w].window);
}

static void library_complete(int pe)
{
    for (int i = 0; i < window_count; i++)
        MPI_Win_flush(pe, windows[i].window);
}

/* Sets a word in memory of the library on a PE; what a PE's own word is. */
static void library_set(int *word, int value, int pe)
{
    library_put(word, &value, sizeof value, pe);
    MPI_Win_flush(pe, windows[window_of(word)].window);
}

static int library_word(int *word)
{
    MPI_Win_sync(windows[window_of(word)].window);
    return *(volatile int *)word;
}

#endif
