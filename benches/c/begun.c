/* Collectives that are begun before a PE leaves its core, and waited for after it, beside the same time away from the
 * core: what the library's threads do on cores that idle. OSU's benchmarks of overlap do so, but compute. */
#include "rounds.h"
#include <shmemx.h>

#define WORLD SHMEM_TEAM_WORLD
enum { LARGEST = 8 << 20, MOST = 8 };

static double *source, *dest;
/* What collectives that are waited for at once take, and half of that. */
static double away;

typedef void begin(double *to, size_t n, shmemx_req_h *request);

static void sum(double *to, size_t n, shmemx_req_h *request) { shmemx_sum_reduce_nb(WORLD, to, source, n, request); }
static void broadcast(double *to, size_t n, shmemx_req_h *request)
{
    shmemx_broadcast_nb(WORLD, to, source, n, 0, request);
}
static void fcollect(double *to, size_t n, shmemx_req_h *request) { shmemx_fcollect_nb(WORLD, to, source, n, request); }
static void alltoall(double *to, size_t n, shmemx_req_h *request) { shmemx_alltoall_nb(WORLD, to, source, n, request); }

/* Several of the short ones: the shortest sleep takes 50 us. */
static int number(void) { return series->bytes > 256 << 10 ? 1 : MOST; }

static void begin_all(begin *begin, shmemx_req_h *requests)
{
    const size_t n = series->bytes / sizeof *source;
    for (int i = 0; i < number(); i++)
        begin(dest + i * n * 2, n, requests + i);
}

static void leave_core(void)
{
    struct timespec time = {(time_t)(away / 1e9), (long)away % 1000000000};
    nanosleep(&time, NULL);
}

/* Sets `away` when another series comes. */
static void choose_time(begin *begin)
{
    static const struct series *chosen;
    static double all[2];
    if (chosen == series)
        return;
    chosen = series;
    all[0] = 1e12;
    for (int i = 0; i < 9; i++) {
        shmem_barrier_all();
        const double start = now_ns();
        shmemx_req_h requests[MOST];
        begin_all(begin, requests);
        shmemx_req_waitall(number(), requests);
        const double time = now_ns() - start;
        all[0] = time < all[0] ? time : all[0];
    }
    shmem_double_max_reduce(WORLD, all + 1, all, 1);
    away = 1.5 * all[1];
    shmem_barrier_all();
}

static void overlapped(begin *begin, int is_begun)
{
    const double start = now_ns();
    choose_time(begin);
    untimed = now_ns() - start;
    shmemx_req_h requests[MOST];
    if (is_begun)
        begin_all(begin, requests);
    leave_core();
    if (is_begun)
        shmemx_req_waitall(number(), requests);
}

#define OVERLAPPED(name)                \
    static void name##_bare(long count) \
    {                                   \
        (void)count;                    \
        overlapped(name, 0);            \
    }                                   \
    static void name##_ours(long count) \
    {                                   \
        (void)count;                    \
        overlapped(name, 1);            \
    }
OVERLAPPED(sum)
OVERLAPPED(broadcast)
OVERLAPPED(fcollect)
OVERLAPPED(alltoall)

#define SIZE(name, text, bytes) {#name "/" text, name##_bare, name##_ours, 1, 1, bytes}
#define SIZES(name) \
    SIZE(name, "64KiB", 64 << 10), SIZE(name, "256KiB", 256 << 10), SIZE(name, "1MiB", 1 << 20), \
        SIZE(name, "8MiB", 8 << 20)

int main(void)
{
    static const struct series all[] = {SIZES(sum), SIZES(broadcast), SIZES(fcollect), SIZES(alltoall)};
    one_of_two();
    source = shmem_calloc(2, LARGEST);
    dest = shmem_calloc(2, LARGEST);
    return serve(all, sizeof all / sizeof *all);
}
