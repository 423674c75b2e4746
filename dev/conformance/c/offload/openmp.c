/* Threads of OpenMP that wait take part in large copies, and go on when they may: regions of any size, barriers, tasks,
 * cancelled loops, nested regions, and the program's end while they wait. With OWN_TOOL the program has a tool of its
 * own; "early" uses OpenMP before shmem_init. */
#define _GNU_SOURCE /* gettid */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 4 << 20, THREADS = 3 };

#ifdef OWN_TOOL
#include <omp-tools.h>

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    (void)lookup, (void)device, (void)data;
    return 1;
}

static void finalize(ompt_data_t *data)
{
    (void)data;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}
#endif

static unsigned char *there, *source;

/* Pages that a thread has mapped by touching them. */
static long faults_of(pid_t thread)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL && fgets(line, sizeof line, file) != NULL);
    fclose(file);
    /* The name, in parentheses, may have blanks; seven fields follow it. */
    const char *rest = strrchr(line, ')');
    long faults = -1;
    REQUIRE(rest != NULL);
    REQUIRE(sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %ld", &faults) == 1);
    return faults;
}

static int tasks(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    REQUIRE(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* A blocking put, a non-blocking one, and a get, each verified. */
static void copy(int to, int value)
{
    memset(source, value, BYTES);
    if (value % 2) {
        shmem_putmem(there, source, BYTES, to);
    } else {
        shmem_putmem_nbi(there, source, BYTES, to);
        shmem_quiet();
    }
    memset(source, 0, BYTES);
    shmem_getmem(source, there, BYTES, to);
    for (int i = 0; i < BYTES; i += 4093)
        CHECK(source[i] == (unsigned char)value, "%d, not %d", source[i], value);
}

/* The run-time frees a nested team once its threads wait in the run-time, not in a tool. */
static void nest_tasks(int to)
{
    for (int round = 0; round < REPEAT(20, 5); round++) {
        int done = 0;
#pragma omp parallel num_threads(2) shared(done)
        {
#pragma omp parallel num_threads(2) shared(done)
#pragma omp single nowait
            for (int i = 0; i < 80; i++) {
#pragma omp task shared(done)
                {
#pragma omp atomic
                    done++;
                }
            }
#pragma omp master
            copy(to, round);
        }
        CHECK(done == 160, "%d", done);
    }
}

static void use_all_ways(int to)
{
    int value = 0;
    for (int round = 0; round < REPEAT(6, 2); round++) {
        int threads = 1 + round % THREADS;
        long sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        {
            sum += 1;
#pragma omp master
            copy(to, ++value);
#pragma omp barrier
#pragma omp single
            copy(to, ++value);
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 50; i++)
                sum += 1000;
#pragma omp single
            copy(to, ++value);
        }
        CHECK(sum == threads + 50000, "%ld", sum);
        copy(to, ++value);
        /* Tasks are run by threads that wait. */
        int done = 0;
#pragma omp parallel num_threads(THREADS) shared(done)
#pragma omp single
        {
            copy(to, ++value);
            for (int i = 0; i < 40; i++) {
#pragma omp task shared(done)
                {
#pragma omp atomic
                    done++;
                }
            }
#pragma omp taskwait
            copy(to, ++value);
        }
        CHECK(done == 40, "%d", done);
        /* Threads that leave a loop early do not meet the others in it. */
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp for
            for (int i = 0; i < 64; i++) {
                if (i % 7 == 3) {
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
#pragma omp master
            copy(to, ++value);
        }
        int inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
        {
#pragma omp parallel num_threads(2) reduction(+ : inner)
            inner += 1;
#pragma omp master
            copy(to, ++value);
        }
        CHECK(inner >= 2 && inner <= 4, "%d", inner);
    }
    nest_tasks(to);
}

/* The master copies to pages that no thread has touched, while the others wait in a barrier: those that they map are
 * theirs. In a barrier threads help for a second at most, hence the rounds. */
static void see_help(int to)
{
    static pid_t threads[THREADS];
    static long before[THREADS];
    unsigned char *fresh =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(fresh != MAP_FAILED);
    REQUIRE(madvise(fresh, BYTES, MADV_NOHUGEPAGE) == 0 || errno == EINVAL);
    int helped = 0;
    while (!helped) {
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num();
            threads[me] = gettid();
            before[me] = faults_of(threads[me]);
#pragma omp barrier
#pragma omp master
            for (int round = 0; round < 200 && !helped; round++) {
                REQUIRE(madvise(fresh, BYTES, MADV_DONTNEED) == 0);
                shmem_getmem(fresh, there, BYTES, to);
                for (int thread = 1; thread < THREADS; thread++)
                    helped |= faults_of(threads[thread]) - before[thread] > 16;
            }
        }
    }
    munmap(fresh, BYTES);
}

int main(int count, char **arguments)
{
    int provided;
    REQUIRE(count < 2 || strcmp(arguments[1], "early") != 0 || omp_get_max_threads() > 0);
    REQUIRE(shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) == 0);
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
    int to = right_of(shmem_my_pe());
    there = shmem_malloc(BYTES);
    source = malloc(BYTES);
    use_all_ways(to);
    if (count > 1 && strcmp(arguments[1], "helped") == 0) {
        see_help(to);
        int before = tasks();
        copy(to, 77);
        CHECK(tasks() == before, "threads have been started");
    }
    shmem_barrier_all();
    shmem_free(there);
    free(source);
    if (count > 2 && strcmp(arguments[2], "exit") == 0)
        exit(check_status());
    shmem_finalize();
    /* Threads wait after the last region while the program ends. */
    return check_status();
}
