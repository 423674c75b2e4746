/* PEs allocate different sizes.
 * check: collective
 * expect: shmem_malloc
 * expect: size */
#include "../seeded.h"

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    void *block = shmem_malloc(fault ? 64 + 64 * me : 64);
    shmem_free(block);
    shmem_finalize();
    return 0;
}
