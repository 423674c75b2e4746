/* A block of each step is never freed.
 * check: memory
 * expect: blocks of shmem_malloc at @block (step),
 * expect: bytes, were never freed */
#include "../seeded.h"

static void step(void)
{
    void *work = shmem_malloc(1000); /* @block */
    if (!fault) shmem_free(work);
}

void run(void)
{
    for (int i = 0; i < 5; i++) step();
}
