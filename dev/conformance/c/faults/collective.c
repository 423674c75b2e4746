/* PE 1 of 3 or more ends, or stops for a while, in the middle of collectives.
 * Arguments: the collective, and what happens to PE 1:
 *   killed    a signal ends it wherever it is
 *   absent    a signal ends it while the others are inside and wait for it
 *   exit0     it leaves without shmem_finalize
 *   stopped   it stands still for a second; the results must be right, and the job ends well */
#include "clock.h"

#include <signal.h>
#include <unistd.h>

enum { LONG = 6000, MOST_PES = 8 };

static double source[LONG * MOST_PES], dest[LONG * MOST_PES];
static int me, n;

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* One call with arrays of `k` elements and its check. */
static void barrier(size_t k) { (void)k, shmem_barrier_all(); }
static void sync_team(size_t k) { (void)k, shmem_team_sync(SHMEM_TEAM_WORLD); }
static void reduce(size_t k)
{
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, k);
    for (size_t i = 0; i < k; i++)
        CHECK(dest[i] == n * (n - 1) / 2 + n * (double)i);
}
static void broadcast(size_t k)
{
    shmem_double_broadcast(SHMEM_TEAM_WORLD, dest, source, k, n - 1);
    for (size_t i = 0; i < k; i++)
        CHECK(dest[i] == n - 1 + (double)i);
}
static void gathered(size_t k)
{
    for (int pe = 0; pe < n; pe++)
        for (size_t i = 0; i < k; i++)
            CHECK(dest[(size_t)pe * k + i] == pe + (double)i);
}
static void collect(size_t k)
{
    shmem_double_collect(SHMEM_TEAM_WORLD, dest, source, k);
    gathered(k);
}
static void fcollect(size_t k)
{
    shmem_double_fcollect(SHMEM_TEAM_WORLD, dest, source, k);
    gathered(k);
}
static void exchanged(size_t k)
{
    for (size_t i = 0; i < k * (size_t)n; i++)
        CHECK(dest[i] == (double)(i / k) + (double)((size_t)me * k + i % k));
}
static void alltoall(size_t k)
{
    shmem_double_alltoall(SHMEM_TEAM_WORLD, dest, source, k);
    exchanged(k);
}
static void alltoalls(size_t k)
{
    shmem_double_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 1, k);
    exchanged(k);
}
static void scan(size_t k)
{
    shmem_double_sum_inscan(SHMEM_TEAM_WORLD, dest, source, k);
    for (size_t i = 0; i < k; i++)
        CHECK(dest[i] == me * (me + 1) / 2 + (me + 1) * (double)i);
}

static const struct {
    const char *name;
    void (*run)(size_t);
} collectives[] = {{"barrier", barrier}, {"sync", sync_team}, {"reduce", reduce},
                   {"broadcast", broadcast}, {"collect", collect}, {"fcollect", fcollect},
                   {"alltoall", alltoall}, {"alltoalls", alltoalls}, {"scan", scan}};

/* A child that does something to this PE in the middle of what it does then. */
static void later(int is_stop)
{
    pid_t self = getpid();
    if (fork() != 0)
        return;
    sleep_ms(100);
    now();
    kill(self, is_stop ? SIGSTOP : SIGKILL);
    if (is_stop) {
        sleep_ms(1000);
        kill(self, SIGCONT);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "", *way = argc > 2 ? argv[2] : "";
    void (*run)(size_t) = NULL;
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (strcmp(name, collectives[i].name) == 0)
            run = collectives[i].run;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    REQUIRE(run != NULL && n > 1 && n <= MOST_PES, "no collective \"%s\"", name);
    for (size_t i = 0; i < (size_t)n * LONG; i++)
        source[i] = me + (double)i;
    shmem_barrier_all();
    int is_stop = strcmp(way, "stopped") == 0;
    if (me == 1 && strcmp(way, "exit0") != 0)
        later(is_stop);
    if (me == 1 && strcmp(way, "absent") == 0)
        for (;;)
            pause();
    long long start = now_ms();
    static int elapsed, longest;
    static const size_t lengths[] = {1, 7, 100, LONG / 8, LONG};
    for (int round = 0; longest < 1500 || !is_stop; round++) {
        if (me == 1 && round == 40 && strcmp(way, "exit0") == 0) {
            now();
            exit(0);
        }
        run(lengths[round % 5]);
        /* All go on equally long. */
        elapsed = (int)(now_ms() - start);
        if (is_stop)
            shmem_int_max_reduce(SHMEM_TEAM_WORLD, &longest, &elapsed, 1);
    }
    CHECK(me != 1 || elapsed > 1000, "was not stopped");
    return finish();
}
