/* The source of a put is changed before an allocation, which completes it. Without bytes, nothing is allocated or completed.
 * check: memory
 * expect: the source of shmem_long_put_nbi at @put (run) to PE
 * expect: was changed before shmem_quiet at @quiet (run) completed it */
#include "../seeded.h"

void run(void)
{
    static long target[4];
    static long source[4];
    shmem_long_put_nbi(target, source, 4, next); /* @put */
    long *block = shmem_malloc(fault ? 0 : 64);
    source[3] = 1;
    shmem_quiet(); /* @quiet */
    shmem_free(block);
    /* So does one in a space. */
    shmemx_space_config_t config = {.sheap_size = 4096};
    shmemx_space_t space;
    shmemx_space_create(SHMEM_TEAM_WORLD, &config, SHMEMX_SPACE_SHEAP_SIZE, &space);
    shmem_long_put_nbi(target, source, 4, next);
    block = shmemx_space_malloc(space, 64);
    source[2] = 1;
    shmem_long_put_nbi(target, source, 4, next);
    shmemx_space_free(space, block);
    source[1] = 1;
    shmem_long_put_nbi(target, source, 4, next);
    shmemx_space_destroy(space);
    source[0] = 1;
    shmem_barrier_all();
}
