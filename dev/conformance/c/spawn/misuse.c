/* Collectives between groups of two PEs each, called wrongly: the first argument says how. Children get a second
 * one. */
#include "way.h"

#include <shmemx.h>

enum { LONG = 100000 };

static unsigned char to[LONG], from[LONG];

int main(int argc, char **argv)
{
    way = argv[1];
    shmem_init();
    shmemx_group_t group = shmemx_group_parents();
    int is_child = argc > 2, me = shmem_my_pe();
    if (!is_child) {
        char *args[] = {argv[1], "child", NULL};
        shmemx_spawn_config_t config = {.argv = args};
        REQUIRE(shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], 2, &config, SHMEMX_SPAWN_ARGV, &group) == 0);
    }
    unsigned char local[8];
    shmem_ctx_t ctx;
    int root = is_child ? 1 : me == 1 ? SHMEMX_ROOT : SHMEMX_PROC_NULL;
    if (is("no-such-root"))
        shmemx_group_broadcastmem(group, to, from, 8, is_child ? 2 : root);
    if (is("no-root-says-so"))
        shmemx_group_broadcastmem(group, to, from, LONG, is_child ? 1 : SHMEMX_PROC_NULL);
    if (is("no-root-of-few-bytes"))
        shmemx_group_broadcastmem(group, to, from, 8, is_child ? 1 : SHMEMX_PROC_NULL);
    if (is("roots-differ"))
        shmemx_group_broadcastmem(group, to, from, 8, is_child ? me : root);
    if (is("lengths"))
        shmemx_group_alltoallmem(group, to, 8, from, is_child ? 8 : 16);
    if (is("counts"))
        shmemx_long_group_sum_reduce(group, (long *)to, (long *)from, is_child ? 3 : 4);
    if (is("routines") && is_child)
        shmemx_group_barrier(group);
    if (is("routines"))
        shmemx_group_fcollectmem(group, to, 8, from, 8);
    if (is("stack"))
        shmemx_group_fcollectmem(group, local, 4, from, 4);
    if (is("beyond"))
        shmemx_group_alltoallmem(group, to, LONG, from, LONG / 2);
    if (is("overlap"))
        shmemx_group_fcollectmem(group, to, 8, to + 8, 8);
    if (is("asymmetric"))
        shmemx_group_fcollectmem(group, to + 8 * (!is_child && me == 1), 8, from, 8);
    if (is("context-pe")) {
        REQUIRE(shmemx_group_create_ctx(group, 0, &ctx) == 0);
        shmem_ctx_putmem(ctx, to, from, 8, 2);
    }
    if (is("context-after-disconnect")) {
        REQUIRE(shmemx_group_create_ctx(group, 0, &ctx) == 0);
        shmemx_group_disconnect(group);
        if (!is_child)
            shmem_ctx_putmem(ctx, to, from, 8, 0);
    }
    if (is("after-disconnect")) {
        shmemx_group_disconnect(group);
        /* The children are no longer connected: they end well. */
        if (!is_child)
            shmemx_group_barrier(group);
    }
    shmem_finalize();
    return 0;
}
