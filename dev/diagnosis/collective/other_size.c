/* PEs allocate different sizes.
 * check: collective
 * expect: shmem_malloc
 * expect: size */
#include "../seeded.h"

void run(void)
{
    void *block = shmem_malloc(fault ? 64 + 64 * me : 64);
    shmem_free(block);
}
