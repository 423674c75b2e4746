/* One PE finalises while the others are in a collective that needs it: the first argument says in which, the second one
 * which PE it is, counted over 2 parents and 3 children. Children get a third argument. */
#include "../check.h"

#include <shmemx.h>
#include <string.h>
#include <unistd.h>

enum { PARENTS = 2, CHILDREN = 3 };

static long dest[4], source[4];

SHMEMX_KERNEL(add, long)
void add(long amount)
{
    source[0] += amount;
}

static void call_kernel(shmemx_group_t group, int is_child)
{
    if (is_child)
        shmemx_kernel_serve();
    else
        shmemx_kernel_wait(shmemx_kernel_call(group, "add", 1L));
}

static void broadcast(shmemx_group_t group, int is_child)
{
    int root = shmem_my_pe() == 0 ? SHMEMX_ROOT : SHMEMX_PROC_NULL;
    shmemx_group_broadcastmem(group, dest, source, sizeof dest, is_child ? 0 : root);
}

static void meet(int is_child)
{
    char port[SHMEMX_MAX_PORT_NAME];
    shmemx_group_t other;
    if (is_child)
        return;
    if (shmem_my_pe() == 0)
        REQUIRE(shmemx_port_open(port) == 0);
    shmemx_port_accept(SHMEM_TEAM_WORLD, 0, port, &other);
}

int main(int argc, char **argv)
{
    const char *way = argv[1];
    int finalizes = atoi(argv[2]);
    shmem_init();
    shmemx_group_t group = shmemx_group_parents();
    int is_child = argc > 3;
    int member = is_child ? PARENTS + shmem_my_pe() : shmem_my_pe();
    char *args[] = {argv[1], argv[2], "child", NULL};
    shmemx_spawn_config_t config = {.argv = args};
    if (!is_child)
        REQUIRE(shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], CHILDREN, &config, SHMEMX_SPAWN_ARGV, &group) == 0);
    if (member == finalizes) {
        if (strcmp(way, "late") == 0)
            sleep(2);
        if (strcmp(way, "disconnects") == 0)
            shmemx_group_disconnect(group);
    } else if (strcmp(way, "barrier") == 0 || strcmp(way, "late") == 0 || strcmp(way, "disconnects") == 0) {
        shmemx_group_barrier(group);
    } else if (strcmp(way, "team") == 0) {
        shmem_team_sync(shmemx_group_team(group));
    } else if (strcmp(way, "broadcast") == 0) {
        broadcast(group, is_child);
    } else if (strcmp(way, "reduce") == 0) {
        shmemx_long_group_sum_reduce(group, dest, source, 4);
    } else if (strcmp(way, "kernel") == 0) {
        call_kernel(group, is_child);
    } else if (strcmp(way, "accept") == 0) {
        meet(is_child);
    } else if (strcmp(way, "spawn") == 0 && !is_child) {
        args[1] = "-1";
        shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], 1, &config, SHMEMX_SPAWN_ARGV, &group);
    } else if (strcmp(way, "world") == 0) {
        shmem_barrier_all();
    }
    shmem_finalize();
    return check_status();
}
