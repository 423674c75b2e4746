/* A broadcast of what the root has not written. The source of the others need not be, nor their places of blocks.
 * check: memory
 * expect: PE 0: shmem_long_broadcast at @broadcast (run) reads 32 bytes on PE 0 that nobody has written
 * expect: byte 0 of the block of 32 bytes of shmem_malloc at @block (run) */
#include "../seeded.h"

void run(void)
{
    long *source = shmem_malloc(4 * sizeof(long)); /* @block */
    long *dest = shmem_malloc(4 * sizeof(long));
    for (int i = 0; i < 4 && me == fault; i++) source[i] = i;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 4, 0); /* @broadcast */
    size_t *places = shmem_malloc(2 * sizeof(size_t));
    for (int i = 0; i < 2 && me == 0; i++) places[i] = 2 * i;
    for (int i = 0; i < 4; i++) source[i] = i;
    shmemx_gathervmem(SHMEM_TEAM_WORLD, dest, source, places, 2, sizeof(long), 0);
    shmem_free(places);
    shmem_free(dest);
    shmem_free(source);
}
