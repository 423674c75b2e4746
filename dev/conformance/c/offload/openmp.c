/* Threads of OpenMP that wait take part in large copies, and go on when they may: regions of any size, barriers, tasks, cancelled
 * loops, nested regions, and the program's end while they wait. With OWN_TOOL the program has a tool of its own. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

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

static long faults(void)
{
    struct rusage usage;
    REQUIRE(getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_minflt;
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
}

/* Pages of memory that nobody has touched are mapped by the thread that copies to them, for which they count. */
static void see_help(int to)
{
    static long before[THREADS], after[THREADS];
    int helped = 0;
    while (!helped) {
        unsigned char *fresh = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(fresh != MAP_FAILED);
        REQUIRE(madvise(fresh, BYTES, MADV_NOHUGEPAGE) == 0 || errno == EINVAL);
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num();
            before[me] = faults();
#pragma omp barrier
#pragma omp master
            shmem_getmem(fresh, there, BYTES, to);
#pragma omp barrier
            after[me] = faults();
        }
        for (int thread = 1; thread < THREADS; thread++)
            helped += after[thread] - before[thread] > 8;
        munmap(fresh, BYTES);
    }
}

int main(int count, char **arguments)
{
    int provided;
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
