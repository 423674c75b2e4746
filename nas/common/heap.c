/* Symmetric memory of a job. */
#include "job.h"

#include <shmem.h>
#include <string.h>

#include "reduce.h"

enum { CACHE_LINE = 64 };
#define MIB ((size_t)1 << 20)

/* The variable that sets the size of the symmetric heap; Open MPI's has another name. */
#ifdef OSHMEM_MAJOR_VERSION
#define SIZE_VARIABLE "SHMEM_SYMMETRIC_HEAP_SIZE"
#else
#define SIZE_VARIABLE "SHMEM_SYMMETRIC_SIZE"
#endif

static size_t needed; /* bytes per PE */

void heap_needed(size_t bytes_per_pe)
{
    needed = bytes_per_pe;
}

/* Size of a heap for all that is needed, with a margin for the metadata of the allocator and the
 * memory of the library. */
static size_t heap_mib(void)
{
    size_t mib = needed / MIB + 1;
    return mib + mib / 32 + 4;
}

#ifdef VARIANT_PTR
static void require_reach(void *memory)
{
    int unreachable = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        unreachable += shmem_ptr(memory, pe) == NULL;
    if (sum_long(unreachable) > 0)
        refuse("shmem_ptr does not reach every PE from here: use the put/get variant");
}
#endif

void *symmetric(size_t bytes, const char *what)
{
    void *memory = shmem_align(CACHE_LINE, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        refuse("no room for %s: the symmetric heap of each of the %d PEs must have %zu MiB, "
               "set " SIZE_VARIABLE "=%zuM", what, shmem_n_pes(), heap_mib(), heap_mib());
    memset(memory, 0, bytes);
#ifdef VARIANT_PTR
    require_reach(memory);
#endif
    return memory;
}
