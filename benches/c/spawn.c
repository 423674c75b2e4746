/* PEs that are started while a job runs, until the first put into one and to their end, beside as many
 * processes that do nothing but answer with a byte. */
#define _GNU_SOURCE
#include "rounds.h"

#include <fcntl.h>
#include <shmemx.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 32 };

static long go;
static char *program;

static void need(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* The smallest process that answers: cat, between two pipes. */
static void bare(int n)
{
    char *argv[] = {"cat", NULL}, byte = 'x';
    pid_t pids[MOST];
    int to[MOST][2], from[MOST][2];
    for (int i = 0; i < n; i++) {
        posix_spawn_file_actions_t actions;
        need(pipe2(to[i], O_CLOEXEC) == 0 && pipe2(from[i], O_CLOEXEC) == 0, "pipe");
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, to[i][0], 0);
        posix_spawn_file_actions_adddup2(&actions, from[i][1], 1);
        need(posix_spawnp(&pids[i], "cat", &actions, NULL, argv, environ) == 0, "cat");
        posix_spawn_file_actions_destroy(&actions);
        need(write(to[i][1], &byte, 1) == 1, "write");
    }
    for (int i = 0; i < n; i++)
        need(read(from[i][0], &byte, 1) == 1, "read");
    for (int i = 0; i < n; i++) {
        close(to[i][1]), close(to[i][0]), close(from[i][0]), close(from[i][1]);
    }
    for (int i = 0; i < n; i++)
        waitpid(pids[i], NULL, 0);
}

static void ours(int n)
{
    shmemx_group_t group;
    need(shmemx_spawn(SHMEM_TEAM_WORLD, 0, program, n, NULL, 0, &group) == 0, "shmemx_spawn");
    for (int i = 0; i < n; i++)
        shmem_long_p(&go, 1, shmemx_group_pe(group, i));
    shmemx_group_disconnect(group);
}

#define SIZE(n)                                                                                    \
    static void bare_##n(long count)                                                               \
    {                                                                                              \
        for (long i = 0; i < count; i++)                                                           \
            bare(n);                                                                               \
    }                                                                                              \
    static void ours_##n(long count)                                                               \
    {                                                                                              \
        for (long i = 0; i < count; i++)                                                           \
            ours(n);                                                                               \
    }
SIZE(1)
SIZE(2)
SIZE(8)
SIZE(32)

int main(int argc, char **argv)
{
    (void)argc;
    program = argv[0];
    shmem_init();
    if (shmemx_group_parents() != SHMEMX_GROUP_INVALID) {
        shmem_long_wait_until(&go, SHMEM_CMP_EQ, 1);
        shmem_finalize();
        return 0;
    }
    static const struct series all[] = {
        {.name = "1-PE", .bare = bare_1, .ours = ours_1, .count = 4},
        {.name = "2-PEs", .bare = bare_2, .ours = ours_2, .count = 4},
        {.name = "8-PEs", .bare = bare_8, .ours = ours_8, .count = 2},
        {.name = "32-PEs", .bare = bare_32, .ours = ours_32, .count = 1},
    };
    return serve(all, sizeof all / sizeof *all);
}
