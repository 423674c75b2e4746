/* The source of a put is gone before quiet.
 * check: memory
 * expect: the source of shmem_putmem_nbi at @put (run) to PE
 * expect: was unmapped before shmem_quiet at @quiet (run) completed it */
#include "../seeded.h"

#include <sys/mman.h>

static char target[4096];

void run(void)
{
    char *source = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    shmem_putmem_nbi(target, source, 4096, next); /* @put */
    if (fault) munmap(source, 4096);
    shmem_quiet(); /* @quiet */
    shmem_barrier_all();
}
