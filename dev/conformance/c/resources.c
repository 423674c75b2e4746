/* What a job opens: on one node no socket, no thread and no fabric; between nodes all of it. Where its memory is. */
#include "check.h"
#include "near_stack.h"
#include <dirent.h>
#include <unistd.h>

static int sockets(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[300], kind[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, kind, sizeof kind - 1) > 0 && strncmp(kind, "socket:", 7) == 0)
            n++;
    }
    closedir(folder);
    return n;
}

/* But for the idle thread, which a wait starts on a busy machine. */
static int threads(void)
{
    int n = 0;
    char path[300], name[64];
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *comm = fopen(path, "r");
        int is_idle = comm != NULL && fgets(name, sizeof name, comm) != NULL && strncmp(name, "shmem-idle", 10) == 0;
        if (comm != NULL)
            fclose(comm);
        n += !is_idle;
    }
    closedir(folder);
    return n;
}

static int has_fabric(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, "libfabric.so") != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

static long cell, sum;

int main(void)
{
    int sockets_before = sockets(), threads_before = threads();
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int on_one_node = shmem_team_n_pes(SHMEM_TEAM_SHARED) == n;

    CHECK(!near_the_stack());
    shmem_long_p(&cell, me, (me + 1) % n);
    shmem_barrier_all();
    CHECK(cell == (me + n - 1) % n, "%ld", cell);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &cell, 1);
    CHECK(sum == (long)n * (n - 1) / 2, "%ld", sum);
    /* The neighbour may leave the reduction first: its addition must follow the check. */
    shmem_sync_all();
    shmem_long_atomic_add(&sum, 1, (me + 1) % n);
    shmem_barrier_all();

    int more_sockets = sockets() - sockets_before, more_threads = threads() - threads_before;
    /* The idle thread has the name of its parent until it gives itself its own. */
    for (int ms = 0; on_one_node && more_threads > 0 && ms < 1000; ms++) {
        usleep(1000);
        more_threads = threads() - threads_before;
    }
    if (on_one_node && getenv("PMIX_RANK") == NULL) {
        CHECK(more_sockets == 0, "%d sockets on one node", more_sockets);
        CHECK(more_threads == 0, "%d threads on one node", more_threads);
        CHECK(!has_fabric());
    } else if (!on_one_node) {
        CHECK(more_sockets > 0 && more_threads > 0 && has_fabric(), "%d sockets, %d threads",
              more_sockets, more_threads);
    }
    return finish();
}
