/* What may happen while threads of a PE copy: its threads and processes end, its cores change, its sources do. */
#define _GNU_SOURCE /* CPU_SET */
#include "check.h"

#include <shmemx.h>

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 16 << 20 };

static unsigned char *there, *source;

static void *lend(void *until)
{
    shmemx_thread_lend(until, -1);
    return NULL;
}

static void begin(int to, int value)
{
    memset(source, value, BYTES);
    shmem_putmem_nbi(there, source, BYTES, to);
}

static void complete(int value)
{
    shmem_quiet();
    shmem_barrier_all();
    for (int i = 0; i < BYTES; i += 4093)
        CHECK(there[i] == value, "%d, not %d", there[i], value);
    shmem_barrier_all();
}

/* Reads the cores of the library's thread; 0: there is none of its name yet. */
static int read_cores_of_worker(cpu_set_t *cores)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/task");
    REQUIRE(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(name, sizeof name, file) && strcmp(name, "shmem-worker\n") == 0) {
            REQUIRE(sched_getaffinity(atoi(entry->d_name), sizeof *cores, cores) == 0);
            found = 1;
        }
        fclose(file);
    }
    closedir(folder);
    return found;
}

/* Workers run on the cores that their PE has when they are started; copies go on whatever its cores are later. */
static void change_cores(int to)
{
    cpu_set_t all, one;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    int core = 0;
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    begin(to, 1);
    cpu_set_t worker;
    while (!read_cores_of_worker(&worker))
        sched_yield();
    CHECK(CPU_EQUAL(&worker, &one), "%d cores", CPU_COUNT(&worker));
    complete(1);
    for (int round = 2; round < REPEAT(20, 5); round++) {
        begin(to, round);
        REQUIRE(sched_setaffinity(0, sizeof all, round % 2 ? &one : &all) == 0);
        complete(round);
    }
}

int main(int count, char **arguments)
{
    static int never;
    const char *what = count > 1 ? arguments[1] : "";
    int provided;
    REQUIRE(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    int me = shmem_my_pe(), to = right_of(me);
    there = shmem_malloc(BYTES);
    source = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(source != MAP_FAILED);
    pthread_t thread;
    if (strcmp(what, "lent") == 0) {
        /* No thread lets it go: the program ends. */
        REQUIRE(pthread_create(&thread, NULL, lend, &never) == 0);
        begin(to, 3);
        complete(3);
        shmem_putmem(there, source, BYTES, to);
    } else if (strcmp(what, "killed") == 0) {
        begin(to, 4);
        shmem_barrier_all();
        begin(to, 5);
        if (me == 0)
            raise(SIGKILL);
        shmem_barrier_all();
    } else if (strcmp(what, "exec") == 0) {
        begin(to, 6);
        complete(6);
        shmem_finalize();
        if (check_status() == 0)
            execl("/bin/sh", "sh", "-c", "exit 0", NULL);
        return 1;
    } else if (strcmp(what, "cores") == 0) {
        change_cores(to);
    } else if (strcmp(what, "freed") == 0) {
        begin(to, 7);
        munmap(source, BYTES);
        shmem_quiet();
    } else if (strcmp(what, "changed") == 0) {
        begin(to, 8);
        source[BYTES / 2] = 9;
        shmem_quiet();
    }
    shmem_barrier_all();
    return finish();
}
