/* PEs in shmem_finalize while others, of either group, are in shmemx_group_disconnect: the first argument says which
 * PEs of both groups go to shmem_finalize at once, as the bits of a number, parents first; the second one, which of
 * them come late. Children get a third argument. */
#include "../check.h"

#include <shmemx.h>
#include <unistd.h>

enum { PARENTS = 2, CHILDREN = 3 };

static long arrived[PARENTS + CHILDREN];

int main(int argc, char **argv)
{
    long finalizes = strtol(argv[1], NULL, 0), late = strtol(argv[2], NULL, 0);
    shmem_init();
    shmemx_group_t group = shmemx_group_parents();
    int me = shmem_my_pe(), is_child = argc > 3;
    REQUIRE((group != SHMEMX_GROUP_INVALID) == is_child);
    if (!is_child) {
        char *args[] = {argv[1], argv[2], "child", NULL};
        shmemx_spawn_config_t config = {.argv = args};
        REQUIRE(shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], CHILDREN, &config, SHMEMX_SPAWN_ARGV, &group) == 0);
    }
    int member = is_child ? PARENTS + me : me, others = is_child ? PARENTS : CHILDREN;
    if (late >> member & 1)
        usleep(200000);
    for (int pe = 0; pe < others; pe++)
        shmem_long_p(&arrived[member], 1 + member, shmemx_group_pe(group, pe));
    if (!(finalizes >> member & 1))
        CHECK(shmemx_group_disconnect(group) == 0);
    shmem_finalize();
    /* All had left before any went on, so what they have put is there. */
    for (int pe = 0; pe < others; pe++) {
        int from = is_child ? pe : PARENTS + pe;
        CHECK(arrived[from] == 1 + from);
    }
    return check_status();
}
