/* Blocks whose pointers the program has lost; of the others it has pointers behind a header.
 * check: memory
 * expect: blocks of shmem_malloc at @malloc (main),
 * expect: bytes, were never freed */
#include "../seeded.h"

static char *kept[8];

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    for (int i = 0; i < 8; i++) {
        char *block = shmem_malloc(64); /* @malloc */
        kept[i] = fault ? NULL : block + 16;
    }
    shmem_barrier_all();
    shmem_finalize();
    return kept[0] == NULL && !fault;
}
