/* Operations on a PE of another job beside the same on a PE of the own job, and collectives between two groups of
 * a PE each beside those of a team of two. PE 0 measures; the partner that it does not measure sleeps. */
#include "rounds.h"

#include <shmemx.h>
#include <unistd.h>

enum { BYTES = 64 << 10, PAGE = 4096, PAGES = 1 << 16 };

/* For a partner: number, series and operations of an order. On PE 0: the last order that one has begun. */
static long order[3], begun;
static long counter, flag, messages, cells[512], sum[2];
static unsigned char *to, *from, *pages;
static long touched[2];

static shmemx_group_t group;
/* The partner's number, whether it is of another job, and whether this PE is the one that measures. */
static int pe, is_between, is_active;

#define LOOP(name, statement)                                                                      \
    static void name(long count)                                                                   \
    {                                                                                              \
        for (long i = 0; i < count; i++) {                                                         \
            statement;                                                                             \
        }                                                                                          \
    }
/* Of one PE alone. */
#define ONE_SIDED(name, statement) LOOP(name, if (!is_active) return; statement)

ONE_SIDED(p, shmem_long_p(&cells[i % 512], i, pe))
ONE_SIDED(g, cells[i % 512] = shmem_long_g(&counter, pe))
ONE_SIDED(put, shmem_putmem(to, from, BYTES, pe))
ONE_SIDED(add, shmem_long_atomic_add(&counter, 1, pe))
ONE_SIDED(fetch_add, shmem_long_atomic_fetch_add(&counter, 1, pe))
ONE_SIDED(first_contact, shmem_putmem(pages + touched[is_between]++ % PAGES * PAGE, from, 8, pe))

static void p_wait(long count)
{
    for (long i = 0; i < count; i++) {
        messages++;
        if (is_active)
            shmem_long_p(&flag, messages, pe);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, messages);
        if (!is_active)
            shmem_long_p(&flag, messages, pe);
    }
}

#define BOTH(name, within, between) LOOP(name, if (is_between) between; else within)
#define ROOT (is_active ? SHMEMX_ROOT : 0)

BOTH(barrier, shmem_team_sync(SHMEM_TEAM_WORLD), shmemx_group_sync(group))
BOTH(broadcast_8, shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, 8, 0),
     shmemx_group_broadcastmem(group, to, from, 8, ROOT))
BOTH(broadcast, shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, BYTES, 0),
     shmemx_group_broadcastmem(group, to, from, BYTES, ROOT))
BOTH(fcollect_8, shmem_fcollectmem(SHMEM_TEAM_WORLD, to, from, 8),
     shmemx_group_fcollectmem(group, to, 8, from, 8))
BOTH(fcollect, shmem_fcollectmem(SHMEM_TEAM_WORLD, to, from, BYTES),
     shmemx_group_fcollectmem(group, to, BYTES, from, BYTES))
BOTH(alltoall_8, shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, 8),
     shmemx_group_alltoallmem(group, to, 8, from, 8))
BOTH(alltoall, shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, BYTES),
     shmemx_group_alltoallmem(group, to, BYTES, from, BYTES))
BOTH(sum_8, shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum[0], &sum[1], 1),
     shmemx_long_group_sum_reduce(group, &sum[0], &sum[1], 1))
BOTH(sum_all, shmem_long_sum_reduce(SHMEM_TEAM_WORLD, (long *)to, (long *)from, BYTES / 8),
     shmemx_long_group_sum_reduce(group, (long *)to, (long *)from, BYTES / 8))

static const struct series all[] = {
    {.name = "p", .ours = p, .count = 100000},
    {.name = "g", .ours = g, .count = 100000},
    {.name = "put/64KiB", .ours = put, .count = 100},
    {.name = "add", .ours = add, .count = 50000},
    {.name = "fetch_add", .ours = fetch_add, .count = 50000},
    {.name = "first-contact", .ours = first_contact, .count = 16},
    {.name = "p+wait_until", .ours = p_wait, .count = 2000},
    {.name = "sync", .ours = barrier, .count = 2000},
    {.name = "broadcast/8B", .ours = broadcast_8, .count = 2000},
    {.name = "broadcast/64KiB", .ours = broadcast, .count = 100},
    {.name = "fcollect/8B", .ours = fcollect_8, .count = 2000},
    {.name = "fcollect/64KiB", .ours = fcollect, .count = 100},
    {.name = "alltoall/8B", .ours = alltoall_8, .count = 2000},
    {.name = "alltoall/64KiB", .ours = alltoall, .count = 100},
    {.name = "sum/8B", .ours = sum_8, .count = 2000},
    {.name = "sum/64KiB", .ours = sum_all, .count = 100},
};

/* Carries out orders of PE 0. */
static void attend(void)
{
    for (long seen = 0;;) {
        while (__atomic_load_n(&order[0], __ATOMIC_ACQUIRE) == seen)
            usleep(500);
        seen = order[0];
        if (order[1] < 0)
            return;
        flag = messages = 0;
        shmem_long_p(&begun, seen, pe);
        all[order[1]].ours(order[2]);
    }
}

/* Orders a series from the partner, and takes part; nanoseconds of an operation. */
static double turn(int partner, int between, long which)
{
    static long number[2];
    pe = partner;
    is_between = between;
    flag = messages = 0;
    shmem_long_p(&order[1], which, pe);
    if (which >= 0)
        shmem_long_p(&order[2], all[which].count, pe);
    shmem_fence();
    begun = 0;
    shmem_long_p(&order[0], ++number[between], pe);
    if (which < 0)
        return 0;
    shmem_long_wait_until(&begun, SHMEM_CMP_EQ, number[between]);
    const double start = now_ns();
    all[which].ours(all[which].count);
    return (now_ns() - start) / (double)all[which].count;
}

int main(int argc, char **argv)
{
    shmem_init();
    group = shmemx_group_parents();
    is_between = group != SHMEMX_GROUP_INVALID;
    is_active = !is_between && shmem_my_pe() == 0;
    to = shmem_malloc(2 * BYTES);
    from = shmem_calloc(2 * BYTES, 1);
    pages = shmem_malloc((size_t)PAGES * PAGE);
    if (!to || !from || !pages || argc < 1)
        return 1;
    shmem_team_t alone = SHMEM_TEAM_INVALID;
    if (!is_between)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &alone);
    if (is_active && shmemx_spawn(alone, 0, argv[0], 1, NULL, 0, &group) != 0)
        return 1;
    if (!is_active) {
        pe = is_between ? shmemx_group_pe(group, 0) : 0;
        attend();
    } else {
        const int partners[2] = {1, shmemx_group_pe(group, 0)};
        static char buffer[1 << 16];
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
        for (long which, rounds; (which = read_order(all, sizeof all / sizeof *all, &rounds)) >= 0;) {
            for (long round = 0; round < rounds; round++) {
                double times[2];
                for (int k = 0; k < 2; k++) {
                    int between = (int)(round ^ k) & 1;
                    times[between] = turn(partners[between], between, which);
                }
                printf("%.4f %.4f\n", times[0], times[1]);
            }
            fflush(stdout);
        }
        turn(partners[0], 0, -1);
        turn(partners[1], 1, -1);
    }
    shmem_finalize();
    return 0;
}
