/* The job over MPI-3: windows in passive target mode, locked from their creation to the end. If
 * all PEs are on one node, windows are in shared memory, as in a fast program: one-sided
 * operations then need no progress of the target. */
#include "job_mpi.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../job.h"

enum { MOST_WINDOWS = 4, PAGE = 4096 };

static struct {
    void *base;
    MPI_Win window;
} windows[MOST_WINDOWS];
static int window_count;

void job_start(int *argc, char ***argv)
{
#ifdef _OPENMP
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided); /* OpenMP's threads call nothing */
#else
    MPI_Init(argc, argv);
#endif
}

int job_pe(void)
{
    int pe;
    MPI_Comm_rank(MPI_COMM_WORLD, &pe);
    return pe;
}

int job_pes(void)
{
    int pes;
    MPI_Comm_size(MPI_COMM_WORLD, &pes);
    return pes;
}

void job_library(char *text, size_t length)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int name_length, major, minor;
    MPI_Get_library_version(name, &name_length);
    MPI_Get_version(&major, &minor);
    int line = 0; /* some libraries print several lines: the first is enough, without tabs */
    for (; name[line] != '\0' && name[line] != '\n'; line++)
        if (name[line] == '\t')
            name[line] = ' ';
    snprintf(text, length, "MPI %d.%d, %.*s", major, minor, line, name);
}

void job_end(void)
{
    for (; window_count > 0; window_count--) {
        MPI_Win_unlock_all(windows[window_count - 1].window);
        MPI_Win_free(&windows[window_count - 1].window);
    }
    MPI_Finalize();
}

/* Orders local loads from and stores to a window with the accesses of the other PEs before and
 * after. */
static void order_windows(void)
{
    for (int i = 0; i < window_count; i++)
        MPI_Win_sync(windows[i].window);
}

void job_barrier(void)
{
    order_windows();
    MPI_Barrier(MPI_COMM_WORLD);
    order_windows();
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static int on_one_node(void)
{
    MPI_Comm node;
    int here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    return here == job_pes();
}

/* Whole pages, so that PEs share none. MPI's error handler ends the job if the allocation fails. */
void *job_window(size_t bytes)
{
    if (window_count == MOST_WINDOWS)
        return NULL;
    void **base = &windows[window_count].base;
    MPI_Win *window = &windows[window_count].window;
    MPI_Aint size = (MPI_Aint)whole_pages(bytes);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true"); /* each PE's part in its own memory */
    if (on_one_node())
        MPI_Win_allocate_shared(size, 1, info, MPI_COMM_WORLD, base, window);
    else
        MPI_Win_allocate(size, 1, info, MPI_COMM_WORLD, base, window);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, *window);
    window_count++;
    return *base;
}

MPI_Win job_window_at(const void *base)
{
    int i = 0;
    while (windows[i].base != base)
        i++;
    return windows[i].window;
}

void *job_buffer(size_t bytes)
{
    void *memory = aligned_alloc(PAGE, whole_pages(bytes));
    int mine = memory != NULL, everyone;
    MPI_Allreduce(&mine, &everyone, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return everyone ? memory : NULL;
}

void job_share(const double *mine, size_t count, double *all)
{
    MPI_Allgather(mine, (int)count, MPI_DOUBLE, all, (int)count, MPI_DOUBLE, MPI_COMM_WORLD);
}

_Noreturn void job_refuse(const char *format, ...)
{
    fflush(stdout);
    if (job_pe() == 0) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
    }
    job_end();
    exit(EXIT_FAILURE);
}
