/* Kernels of which the tests call all: what each has seen is noted in variables of the callers. */
#include "../check.h"

#include <shmemx.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls that wait while a kernel does. */
#ifndef HELD
#define HELD 20000
#endif

enum { LONG = 1000000 };

struct point {
    double x, y;
    char name[40];
};

/* Calls that this PE has run. */
static long calls;

/* The callers' variable of a name, of which the first caller's counts. */
static void add(const char *name, long value)
{
    shmemx_group_t callers = shmemx_group_parents();
    long *there = (long *)shmemx_import(callers, name, sizeof(long));
    REQUIRE(there != NULL, "%s", name);
    for (int i = 0; i < shmemx_group_n_pes(callers); i++)
        shmem_long_atomic_add(there, value, shmemx_group_pe(callers, i));
}

SHMEMX_KERNEL(count)
void count(void)
{
    calls++;
    add("sum", 1);
}

SHMEMX_KERNEL(values, double, int, char, struct point, float, long long)
void values(double d, int i, char c, struct point p, float f, long long l)
{
    CHECK(d == 1.5 && i == -7 && c == 'x' && f == 0.25f && l == 1LL << 40);
    CHECK(p.x == 3 && p.y == 4 && strcmp(p.name, "a point") == 0);
    /* A process that it starts may exit. */
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    add("sum", check_failures ? 1000 : 10);
}

SHMEMX_KERNEL(many, char, short, int, long, char, short, int, long, char, short, int, long, double, double, double,
              long double)
void many(char a, short b, int c, long d, char e, short f, int g, long h, char i, short j, int k, long l, double m,
          double n, double o, long double p)
{
    long all = a + b + c + d + e + f + g + h + i + j + k + l + (long)(m + n + o + p);
    CHECK(all == 136, "%ld", all);
    add("sum", all);
}

/* Each PE has arrays of its own, which it may change. */
SHMEMX_KERNEL(arrays, unsigned char *, size_t, const double *, size_t, int)
void arrays(unsigned char *bytes, size_t n, const double *reals, size_t m, int seed)
{
    CHECK((uintptr_t)bytes % 64 == 0 && (uintptr_t)reals % 64 == 0);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += bytes[i] != (unsigned char)(i * 7 + (size_t)seed);
    for (size_t i = 0; i < m; i++)
        wrong += reals[i] != (double)i / 4;
    CHECK(wrong == 0, "%zu of %zu and %zu", wrong, n, m);
    memset(bytes, 0xee, n);
    add("sum", wrong == 0);
}

/* Calls come in their order. */
SHMEMX_KERNEL(in_order, long)
void in_order(long number)
{
    CHECK(number == calls, "%ld, not %ld", number, calls);
    calls++;
    if (number % 1000 == 0)
        add("sum", 1);
}

SHMEMX_KERNEL(forget)
void forget(void)
{
    calls = 0;
}

/* Waits for the callers. */
SHMEMX_KERNEL(hold)
void hold(void)
{
    static long flag;
    shmemx_export("flag", &flag, sizeof flag);
    shmem_barrier_all();
    add("held", 1);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    flag = 0;
}

/* Kernels of all PEs run at the same time, and reach each other and the callers. */
SHMEMX_KERNEL(together, int)
void together(int value)
{
    static long mine, all, theirs;
    mine = value + shmem_my_pe();
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1) == 0);
    long n = shmem_n_pes();
    CHECK(all == n * value + n * (n - 1) / 2);
    CHECK(shmemx_long_group_sum_reduce(shmemx_group_parents(), &theirs, &mine, 1) == 0);
    CHECK(theirs == shmemx_group_n_pes(shmemx_group_parents()) * 100);
}

static long processor_time(struct rusage *use)
{
    getrusage(RUSAGE_SELF, use);
    return 1000000 * (use->ru_utime.tv_sec + use->ru_stime.tv_sec) + use->ru_utime.tv_usec + use->ru_stime.tv_usec;
}

/* Since the call before, this PE has slept, without waking up now and then, but for threads that look after other
 * nodes. */
SHMEMX_KERNEL(has_slept, int)
void has_slept(int again)
{
    static long time, switches;
    struct rusage use;
    long now = processor_time(&use);
    if (again) {
        CHECK(now - time < 100000, "%ld us of processor time", now - time);
        CHECK(use.ru_nvcsw - switches < (is_launched_by_other() ? 100 : 20), "%ld sleeps", use.ru_nvcsw - switches);
    }
    time = now, switches = use.ru_nvcsw;
    add("sum", 1);
}

SHMEMX_KERNEL(nap, int, const unsigned char *)
void nap(int microseconds, const unsigned char *bytes)
{
    (void)bytes;
    usleep((unsigned)microseconds);
    add("sum", 1);
}

SHMEMX_KERNEL(report)
void report(void)
{
    add("failures", check_failures);
}
