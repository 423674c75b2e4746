/* What may go wrong with a group: the first argument says what does. Children get a second one. */
#define _GNU_SOURCE
#include "way.h"

#include <shmemx.h>
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long cell;

/* Takes the memory of the global variables from the PE of a job of one, as if there were none. They are behind the
 * heaps in the job's memory; of the files that the process has, only parts of a job's memory are large. */
static void take_memory(long pid)
{
    const off_t LARGE = (off_t)1 << 30;
    char path[300];
    struct stat info;
    int taken = 0;
    kill((pid_t)pid, SIGSTOP);
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    DIR *all = opendir(path);
    REQUIRE(all != NULL);
    for (struct dirent *file; (file = readdir(all)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%s", pid, file->d_name);
        if (stat(path, &info) == 0 && info.st_size >= LARGE) {
            taken++;
            REQUIRE(truncate(path, info.st_size / 8) == 0);
        }
    }
    closedir(all);
    REQUIRE(taken > 0);
}

static void child(shmemx_group_t group)
{
    if (is("no-memory")) {
        shmem_long_p(&cell, getpid(), shmemx_group_pe(group, 0));
        for (;;)
            pause();
    }
    if (is("child-crashes"))
        raise(SIGSEGV);
    if (is("child-fails") && shmem_my_pe() == 1)
        exit(5);
    if (is("child-leaves") && shmem_my_pe() == 1)
        exit(0);
    if (is("child-ends-all"))
        shmem_global_exit(9);
    if (is("after-disconnect") || is("disconnected-twice"))
        shmemx_group_disconnect(group);
    if (is("child-misuses"))
        shmem_long_p(&cell, 1, 1234);
}

static int is_of_another_version;

/* What a PE of another version finds at the beginning of its job's memory, which the library reads by this. */
ssize_t pread64(int fd, void *buffer, size_t bytes, off64_t offset)
{
    ssize_t n = syscall(SYS_pread64, fd, buffer, bytes, offset);
    if (is_of_another_version && offset == 0 && n > 8 && memcmp(buffer, "\001hsorref", 8) == 0)
        ((char *)buffer)[8]++;
    return n;
}

static void parent(shmemx_group_t group)
{
    long local;
    int pe = shmemx_group_pe(group, 1);
    if (is("parent-crashes") && shmem_my_pe() == 1)
        raise(SIGABRT);
    if (is("parent-fails"))
        exit(3);
    if (is("parent-leaves") && shmem_my_pe() == 0)
        exit(0);
    if (is("after-disconnect") || is("disconnected-twice"))
        shmemx_group_disconnect(group);
    if (is("no-memory")) {
        if (shmem_my_pe() == 0) {
            shmem_long_wait_until(&cell, SHMEM_CMP_NE, 0);
            take_memory(cell);
            shmem_long_p(&cell, 1, shmemx_group_pe(group, 0));
        }
        for (;;)
            pause();
    }
    if (is("after-disconnect"))
        shmem_long_p(&cell, 1, pe);
    if (is("disconnected-twice"))
        shmemx_group_disconnect(group);
    if (is("no-such-pe"))
        shmem_long_atomic_inc(&cell, 1234);
    if (is("stack"))
        shmem_putmem(&local, &cell, sizeof cell, pe);
    if (is("split")) {
        shmem_team_t team;
        shmem_team_split_strided(shmemx_group_team(group), 0, 1, 2, NULL, 0, &team);
    }
    if (is("destroy"))
        shmem_team_destroy(shmemx_group_team(group));
    if (is("collective-on-stack"))
        shmem_long_sum_reduce(shmemx_group_team(group), &local, &cell, 1);
}

int main(int argc, char **argv)
{
    way = argv[1];
    if (argc > 2 && is("never-initialises"))
        return 0;
    if (argc > 2 && is("sleeps"))
        pause();
    if (argc > 2 && is("fails-early"))
        return 3;
    if (argc > 2 && is("other-version"))
        is_of_another_version = 1;
    shmem_init();
    shmemx_group_t group = shmemx_group_parents();
    if (argc > 2) {
        child(group);
        shmem_finalize();
        return 0;
    }
    char *args[] = {(char *)way, "child", NULL}, *env[] = {"no value", NULL};
    shmemx_spawn_config_t config;
    config.argv = args;
    config.env = env;
    config.wdir = "/no/such/folder";
    long mask = SHMEMX_SPAWN_ARGV;
    const char *program = argv[0];
    int n = is("no-memory") ? 1 : 2, root = 0;
    if (is("missing"))
        program = "./no-such-program";
    if (is("folder"))
        program = "/tmp";
    if (is("not-executable"))
        program = "/etc/passwd";
    if (is("no-folder"))
        mask |= SHMEMX_SPAWN_WDIR;
    if (is("none"))
        n = 0;
    if (is("too-many"))
        n = 100000;
    if (is("null"))
        program = NULL;
    if (is("bad-root"))
        root = 2;
    if (is("bad-mask"))
        mask = 1 << 20;
    if (is("bad-variable"))
        mask |= SHMEMX_SPAWN_ENV;
    int rc = shmemx_spawn(SHMEM_TEAM_WORLD, root, program, n, &config, mask, &group);
    if (rc != 0) {
        CHECK(rc == -1 && group == SHMEMX_GROUP_INVALID);
        /* The job goes on. */
        shmem_barrier_all();
        puts("refused");
    } else {
        parent(group);
    }
    return finish();
}
