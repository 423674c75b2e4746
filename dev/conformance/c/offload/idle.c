/* With nothing set, a thread of the library makes a large non-blocking copy while its PE computes and the other PE, if
 * there is one, sleeps. The thread has the lowest policy, so that it runs on idle cores alone. */
#define _GNU_SOURCE /* SCHED_IDLE */
#include "check.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 16 << 20 };

/* The policies of the library's workers: how many have SCHED_IDLE, less those that have another. */
static int idle_workers(void)
{
    int count = 0;
    DIR *const tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *const file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof name, file) != NULL && strncmp(name, "shmem-worker", 12) == 0)
            count += sched_getscheduler(atoi(task->d_name)) == SCHED_IDLE ? 1 : -1;
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

int main(void)
{
    static long done;
    shmem_init();
    const int me = shmem_my_pe(), to = shmem_n_pes() - 1;
    unsigned char *const dest = shmem_malloc(BYTES), *const source = shmem_malloc(BYTES);
    for (int round = 1; round <= 3; round++) {
        memset(source, round, BYTES);
        memset(dest, 0, BYTES);
        shmem_barrier_all();
        if (me == 0) {
            const volatile unsigned char *const arrives = shmem_ptr(dest, to);
            shmem_putmem_nbi(dest, source, BYTES, to);
            /* No call of the library: the watchdog ends a PE that would do this for ever. */
            for (int i = 0; i < BYTES; i += 4096)
                while (arrives[i] != round)
                    ;
            while (arrives[BYTES - 1] != round)
                ;
            shmem_quiet();
            CHECK(idle_workers() > 0, "%d workers with SCHED_IDLE", idle_workers());
            shmem_long_atomic_inc(&done, to);
        }
        if (me == to) {
            while (shmem_long_atomic_fetch(&done, me) != round)
                usleep(1000);
            for (int i = 0; i < BYTES; i++)
                CHECK(dest[i] == round, "byte %d is %d in round %d", i, dest[i], round);
        }
        shmem_barrier_all();
    }
    shmem_finalize();
    return check_status();
}
