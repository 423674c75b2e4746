/* The C library's functions write and read what a put writes.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's shmem_putmem at @put (main) and PE 1's store at @set (main) race
 * expect: PE 0's shmem_putmem at @again (main) and PE 1's load at @copy (main) race */
#include "../seeded.h"

static char data[4096], some[4096], copy[4096];

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    /* Compilers expand those of a constant length, which are then not seen. */
    size_t bytes = (size_t)n * 2048;
    if (me == 0) shmem_putmem(data, some, sizeof some, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) memset(data, argc, bytes); /* @set */
    shmem_barrier_all();
    if (me == 0) shmem_putmem(data, some, sizeof some, 1); /* @again */
    if (!fault) shmem_barrier_all();
    if (me == 1) memmove(copy, data, bytes); /* @copy */
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
