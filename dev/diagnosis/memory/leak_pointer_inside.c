/* Blocks whose pointers the program has lost; of the others it has pointers behind a header.
 * check: memory
 * expect: blocks of shmem_malloc at @malloc (run),
 * expect: bytes, were never freed */
#include "../seeded.h"

static char *kept[8];

void run(void)
{
    for (int i = 0; i < 8; i++) {
        char *block = shmem_malloc(64); /* @malloc */
        kept[i] = fault ? NULL : block + 16;
    }
    shmem_barrier_all();
    if (kept[0] == NULL && !fault) shmem_global_exit(1);
}
