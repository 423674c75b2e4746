/* Faults in operations that are expanded in the program, and in the program's own code: PE 1's, on PE 0. Argument:
 * which. The line of a fault is marked by its name. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

struct counters {
    long other[2];
    long count;
};

static struct counters counters;
static long *volatile nothing;
static struct counters *volatile no_counters;
/* Not a constant: the library makes the copy. */
static volatile size_t many = 1 << 20;
/* Written after each fault, so that no call is the function's last, which compilers make a jump. */
static volatile int done;
static char bytes[1 << 20];

static __attribute__((noinline)) void null(void)
{
    shmem_long_p(nothing, 7, 0); /* @null */
    done = 1;
}

static __attribute__((noinline)) void get(void)
{
    counters.count = shmem_long_g(nothing, 0); /* @get */
    done = 1;
}

static __attribute__((noinline)) void member(void)
{
    shmem_long_atomic_inc(&no_counters->count, 0); /* @member */
    done = 1;
}

static __attribute__((noinline)) void stack(void)
{
    long local = 0;
    long *volatile at = &local;
    shmem_long_p(at, 7, 0); /* @stack */
    done = 1;
}

static __attribute__((noinline)) void source(void)
{
    shmem_long_put(&counters.count, &no_counters->count, 1, 0); /* @source */
    done = 1;
}

static __attribute__((noinline)) void copy(void)
{
    shmem_putmem(bytes, &no_counters->count, many, 0); /* @copy */
    done = 1;
}

static __attribute__((noinline)) void own(void)
{
    no_counters->count = 7;
}

static void caught(int signal)
{
    (void)signal;
    static const char text[] = "caught by the program\n";
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(4);
    _exit(3);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    if (strcmp(which, "caught_before") == 0) signal(SIGSEGV, caught);
    shmem_init();
    if (strcmp(which, "caught_after") == 0) signal(SIGSEGV, caught);
    shmem_barrier_all();
    if (shmem_my_pe() == 1) {
        static const struct {
            const char *name;
            void (*run)(void);
        } all[] = {
            {"null", null},     {"get", get},   {"member", member}, {"stack", stack},
            {"source", source}, {"copy", copy}, {"own", own},
        };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (strcmp(which, all[i].name) == 0) all[i].run();
        null();
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
