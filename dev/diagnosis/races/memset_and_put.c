/* The C library's functions write and read what a put writes.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's shmem_putmem at @put (run) and PE 1's store at @set (run) race
 * expect: PE 0's shmem_putmem at @again (run) and PE 1's load at @copy (run) race */
#include "../seeded.h"

static char data[4096], some[4096], copy[4096];

void run(void)
{
    /* Compilers expand those of a constant length, which are then not seen. */
    size_t bytes = (size_t)n * 2048;
    if (me == 0) shmem_putmem(data, some, sizeof some, 1); /* @put */
    if (!fault) shmem_barrier_all();
    if (me == 1) memset(data, me, bytes); /* @set */
    shmem_barrier_all();
    if (me == 0) shmem_putmem(data, some, sizeof some, 1); /* @again */
    if (!fault) shmem_barrier_all();
    if (me == 1) memmove(copy, data, bytes); /* @copy */
    shmem_barrier_all();
}
