/* What the checks call of the library: its functions by their names of the profiling interface, which are weak, since
 * programs that are no OpenSHMEM programs load this library, too. */
#include "check.h"

#pragma weak pshmem_my_pe
#pragma weak pshmem_n_pes
#pragma weak pshmem_ptr
#pragma weak pshmem_addr_accessible
#pragma weak pshmem_team_n_pes
#pragma weak pshmem_team_translate_pe
#pragma weak pshmem_ctx_get_team
#pragma weak pshmem_barrier_all
#pragma weak pshmem_malloc
#pragma weak pshmem_align
#pragma weak pshmem_malloc_with_hints
#pragma weak pshmem_realloc
#pragma weak pshmem_free

static void describe(struct shmemi_library *library)
{
    *library = (struct shmemi_library){
        pshmem_my_pe,
        pshmem_n_pes,
        pshmem_ptr,
        pshmem_addr_accessible,
        pshmem_team_n_pes,
        pshmem_team_translate_pe,
        pshmem_ctx_get_team,
        pshmem_barrier_all,
        pshmem_malloc,
        pshmem_align,
        pshmem_malloc_with_hints,
        pshmem_realloc,
        pshmem_free,
        (uintptr_t)SHMEM_TEAM_WORLD,
        (uintptr_t)SHMEM_CTX_DEFAULT,
    };
}

void shmemi_check_initialized(void)
{
    shmemi_check_start(describe);
}
