/* With nothing set, a thread of the library makes a large non-blocking copy while its PE computes and the other PE, if
 * there is one, sleeps, and threads of both execute a non-blocking collective. They have the lowest
 * policy, so that they run on idle cores alone. */
#define _GNU_SOURCE /* SCHED_IDLE */
#include "check.h"

#include <dirent.h>
#include <sched.h>
#include <shmemx.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
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

/* A sum of which no PE calls the library before it has the result: the first one computes, the others sleep. Whether it
 * came so on all PEs: where other programs have used the cores, workers are not asked for a while. */
static bool sum(int me, int n, int round)
{
    enum { NUMBERS = 1 << 17 };
    static long dest[NUMBERS], source[NUMBERS];
    static int came, all;
    const volatile long *const arrives = dest;
    const time_t last = time(NULL) + 1;
    shmemx_req_h request;
    for (int i = 0; i < NUMBERS; i++)
        source[i] = round * (i + me), dest[i] = -1;
    shmem_barrier_all();
    CHECK(shmemx_sum_reduce_nb(SHMEM_TEAM_WORLD, dest, source, NUMBERS, &request) == 0, "begins");
    for (int i = 0; i < NUMBERS && (came = arrives[i] != -1 || time(NULL) <= last);)
        if (arrives[i] != -1)
            i++;
        else if (me > 0)
            usleep(100);
    CHECK(shmemx_req_wait(&request) == 0, "ends");
    for (int i = 0; i < NUMBERS; i++) {
        const long expected = round * ((long)n * i + n * (n - 1) / 2);
        CHECK(dest[i] == expected, "number %d is %ld in round %d", i, dest[i], round);
    }
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &all, &came, 1);
    return all;
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
    bool came = false;
    for (int round = 1; round <= 20 && !came; round++)
        came = sum(me, to + 1, round);
    CHECK(came, "no worker has executed a collective");
    return finish();
}
