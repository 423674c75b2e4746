/* One PE comes late, and for a part of that time threads compute on the cores of those that wait, which sleep and
 * get their cores back. A thread of the library that looks whether they are free has the lowest priority. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = REPEAT(12, 4), COMPUTES_MS = 8, LATE_MS = 40, WORDS = 3 };

static long words[WORDS], lock, in_turn;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void *compute(void *unused)
{
    for (const double end = now_ms() + COMPUTES_MS; now_ms() < end;)
        ;
    return unused;
}

/* Waits, in one of several ways, for what the late PE does in `change`. */
static void wait_for(int way, long value)
{
    switch (way) {
    case 0: shmem_long_wait_until(&words[0], SHMEM_CMP_EQ, value); break;
    case 1:
        CHECK(shmem_long_wait_until_any(words, WORDS, NULL, SHMEM_CMP_EQ, value) == 1);
        break;
    case 2:
        shmem_set_lock(&lock);
        CHECK(in_turn == value, "%ld, not %ld", in_turn, value);
        shmem_clear_lock(&lock);
        break;
    default: shmem_barrier_all(); break;
    }
}

static void change(int way, long value)
{
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        if (way < 2)
            shmem_long_p(&words[way], value, pe);
        else
            shmem_long_p(&in_turn, value, pe);
    shmem_quiet();
    if (way == 2)
        shmem_clear_lock(&lock);
    else if (way == 3)
        shmem_barrier_all();
}

/* The library's thread comes to have the policy, unless the system refuses it: then it ends. */
static void check_policy(void)
{
    DIR *tasks = opendir("/proc/self/task");
    REQUIRE(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        char path[64], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(name, sizeof name, file) && strcmp(name, "shmem-idle\n") == 0)
            while (sched_getscheduler(atoi(entry->d_name)) == SCHED_OTHER)
                usleep(1000);
        fclose(file);
    }
    closedir(tasks);
}

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), n_pes = shmem_n_pes();
    for (int round = 0; round < ROUNDS; round++) {
        const int way = round % 4, late = round / 4 % n_pes;
        const long value = round + 1;
        if (way == 2 && me == late)
            shmem_set_lock(&lock);
        shmem_barrier_all();
        if (me == late) {
            usleep(LATE_MS * 1000);
            change(way, value);
        } else {
            pthread_t thread;
            REQUIRE(pthread_create(&thread, NULL, compute, NULL) == 0);
            wait_for(way, value);
            if (way == 3)
                CHECK(in_turn == value, "%ld, not %ld", in_turn, value);
            pthread_join(thread, NULL);
        }
        shmem_barrier_all();
    }
    check_policy();
    return finish();
}
