/* Kernels that one PE calls by name on 8 PEs of another job, until they are complete. The arguments are five doubles,
 * or an array.
 *
 *   waited/...      a call, beside a broadcast of as many bytes to the group and a barrier
 *   batch/N         N calls as one message, beside as many calls each of which is waited for
 *   stream/N        the same beside as many calls of which the last one is waited for
 *   one-spawn/N     a spawn, N calls each of which is waited for and a disconnect, beside all of that for each call
 *   one-batch/N     a spawn, a message of N calls and a disconnect, beside the former */
#include "rounds.h"

#include <shmemx.h>

enum { PES = 8, MOST = 1024, BYTES = 64 << 10 };

static double values[5] = {1, 2, 3, 4, 5};
static unsigned char to[BYTES], from[BYTES];
static shmemx_group_t group;
static char *program;

SHMEMX_KERNEL(five, double, double, double, double, double)
void five(double a, double b, double c, double d, double e)
{
    values[0] = a + b + c + d + e;
}

SHMEMX_KERNEL(bytes, const unsigned char *, size_t)
void bytes(const unsigned char *array, size_t n)
{
    to[0] = array[n - 1];
}

/* Takes part in the broadcasts and barriers of a series. */
SHMEMX_KERNEL(attend, long, size_t)
void attend(long count, size_t size)
{
    for (long i = 0; i < count; i++) {
        shmemx_group_broadcastmem(shmemx_group_parents(), to, from, size, 0);
        shmemx_group_barrier(shmemx_group_parents());
    }
}

#define WAITED(name, size, call)                                                                   \
    static void broadcast_##name(long count)                                                       \
    {                                                                                              \
        shmemx_kernel_call(group, "attend", count, (size_t)(size));                                \
        for (long i = 0; i < count; i++) {                                                         \
            shmemx_group_broadcastmem(group, to, from, size, SHMEMX_ROOT);                         \
            shmemx_group_barrier(group);                                                           \
        }                                                                                          \
    }                                                                                              \
    static void call_##name(long count)                                                            \
    {                                                                                              \
        for (long i = 0; i < count; i++)                                                           \
            shmemx_kernel_wait(call);                                                              \
    }
#define FIVE shmemx_kernel_call(group, "five", values[0], values[1], values[2], values[3], values[4])
WAITED(40, 40, FIVE)
WAITED(64K, BYTES, shmemx_kernel_call(group, "bytes", SHMEMX_ARRAY(from, BYTES), (size_t)BYTES))

/* n calls, each of which is waited for. */
static void each(long n)
{
    for (long i = 0; i < n; i++)
        shmemx_kernel_wait(FIVE);
}

/* n calls, the last of which is waited for. */
static void stream(long n)
{
    shmemx_request_t last = SHMEMX_REQUEST_INVALID;
    for (long i = 0; i < n; i++)
        last = FIVE;
    shmemx_kernel_wait(last);
}

static void batch(long n)
{
    static shmemx_kernel_arg_t args[5];
    static shmemx_kernel_call_t calls[MOST];
    for (int i = 0; i < 5; i++) {
        shmemx_kernel_arg_t arg = SHMEMX_VALUE(values[i]);
        args[i] = arg;
    }
    for (long i = 0; i < n; i++) {
        calls[i].name = "five";
        calls[i].nargs = 5;
        calls[i].args = args;
    }
    shmemx_kernel_wait(shmemx_kernel_call_multiple(group, (size_t)n, calls));
}

static void start(void)
{
    if (shmemx_spawn(SHMEM_TEAM_WORLD, 0, program, PES, NULL, 0, &group) != 0)
        exit(1);
}

/* A spawn for each call. */
static void spawns(long n)
{
    shmemx_group_t kept = group;
    for (long i = 0; i < n; i++) {
        start();
        each(1);
        shmemx_group_disconnect(group);
    }
    group = kept;
}

/* One spawn, of which the calls are a part. */
static void once(long n)
{
    shmemx_group_t kept = group;
    start();
    each(n);
    shmemx_group_disconnect(group);
    group = kept;
}

static void once_batch(long n)
{
    shmemx_group_t kept = group;
    start();
    batch(n);
    shmemx_group_disconnect(group);
    group = kept;
}

int main(int argc, char **argv)
{
    (void)argc;
    program = argv[0];
    shmem_init();
    if (shmemx_group_parents() != SHMEMX_GROUP_INVALID) {
        shmemx_kernel_serve();
        shmem_finalize();
        return 0;
    }
#define NUMBER(n)                                                                                  \
    {.name = "batch/" #n, .bare = each, .ours = batch, .count = n},                                \
        {.name = "stream/" #n, .bare = stream, .ours = batch, .count = n},                         \
        {.name = "one-batch/" #n, .bare = once, .ours = once_batch, .count = n}
    static const struct series all[] = {
        {.name = "waited/40B", .bare = broadcast_40, .ours = call_40, .count = 500},
        {.name = "waited/64KiB", .bare = broadcast_64K, .ours = call_64K, .count = 100},
        /* More spawns take as many times as long. */
        {.name = "one-spawn/1", .bare = spawns, .ours = once, .count = 1},
        {.name = "one-spawn/16", .bare = spawns, .ours = once, .count = 16},
        NUMBER(1),
        NUMBER(4),
        NUMBER(16),
        NUMBER(64),
        NUMBER(256),
        NUMBER(1024),
    };
    start();
    return serve(all, sizeof all / sizeof *all);
}
