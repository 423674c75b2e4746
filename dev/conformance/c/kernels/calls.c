/* Calls kernels on PEs of this program, or of the one that the second argument names; as many as the first says. */
#include "kernels.h"

static long sum, held, failures;
static shmemx_group_t group;
static int n, me;

/* Waits until the kernels have added so much on this PE, for each PE of the group. */
static void expect(long each)
{
    shmem_long_wait_until(&sum, SHMEM_CMP_GE, each * n);
    CHECK(sum == each * n, "%ld, not %ld", sum, each * n);
    shmem_barrier_all();
    sum = 0;
    shmem_barrier_all();
}

static void done(shmemx_request_t request, long each)
{
    CHECK(request != SHMEMX_REQUEST_INVALID);
    shmemx_kernel_wait(request);
    CHECK(shmemx_kernel_test(request) == 1);
    CHECK(sum == each * n, "%ld, not %ld", sum, each * n);
    expect(each);
}

static void plain(void)
{
    const int seven = -7;
    struct point p = {3, 4, "a point"};
    done(shmemx_kernel_call(group, "count"), 1);
    done(shmemx_kernel_call(group, "values", 1.5, seven, (char)'x', p, 0.25f, 1LL << 40), 10);
    done(shmemx_kernel_call(group, "many", (char)1, (short)2, 3, 4L, (char)5, (short)6, 7, 8L, (char)9, (short)10, 11,
                            12L, 13.0, 14.0, 15.0, (long double)16),
         136);
    /* What the first PE gives counts. */
    if (me == 0)
        done(shmemx_kernel_call(group, "count"), 1);
    else
        done(shmemx_kernel_call(group, "no such kernel", 1.5), 1);
}

static void some_arrays(void)
{
    unsigned char *bytes = (unsigned char *)malloc(LONG);
    double *reals = (double *)malloc(LONG / 8 * sizeof *reals);
    for (size_t i = 0; i < LONG / 8; i++)
        reals[i] = (double)i / 4;
    const size_t sizes[] = {0, 1, 63, 5000, 16384, LONG};
    for (int seed = 0; seed < 6; seed++) {
        size_t size = sizes[seed], few = size / 8;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(i * 7 + (size_t)seed);
        shmemx_request_t request =
            shmemx_kernel_call(group, "arrays", SHMEMX_ARRAY(bytes, size), size, SHMEMX_ARRAY(reals, few), few, seed);
        /* They may be changed. */
        memset(bytes, 0, size);
        done(request, 1);
    }
    free(bytes);
    free(reals);
}

static void batches(void)
{
    enum { CALLS = 1024 };
    static shmemx_kernel_call_t all[CALLS];
    static shmemx_kernel_arg_t args[CALLS];
    static long numbers[CALLS];
    shmemx_kernel_call(group, "forget");
    for (long i = 0; i < CALLS; i++) {
        shmemx_kernel_arg_t arg = SHMEMX_VALUE(numbers[i]);
        numbers[i] = i;
        args[i] = arg;
        all[i].name = "in_order";
        all[i].nargs = 1;
        all[i].args = &args[i];
    }
    done(shmemx_kernel_call_multiple(group, CALLS, all), 2);
    done(shmemx_kernel_call_multiple(group, 0, NULL), 0);
    shmemx_kernel_call(group, "forget");
    /* Of several kernels, the last of which was not called before. */
    unsigned char byte[1] = {3};
    double real[1] = {0};
    int seed = 3;
    size_t one = 1;
    shmemx_kernel_arg_t four[] = {SHMEMX_ARRAY(byte, 1), SHMEMX_VALUE(one), SHMEMX_ARRAY(real, 1), SHMEMX_VALUE(one),
                                  SHMEMX_VALUE(seed)};
    shmemx_kernel_call_t several[] = {{"in_order", 1, &args[0]}, {"arrays", 5, four}, {"in_order", 1, &args[1]}};
    done(shmemx_kernel_call_multiple(group, 3, several), 2);
}

/* Calls while the kernels wait. */
static void held_calls(void)
{
    enum { CALLS = HELD };
    shmemx_request_t first = shmemx_kernel_call(group, "hold");
    shmemx_kernel_call(group, "forget");
    for (long i = 0; i < CALLS; i++)
        shmemx_kernel_call(group, "in_order", i);
    shmemx_request_t last = shmemx_kernel_call(group, "count");
    shmem_long_wait_until(&held, SHMEM_CMP_EQ, n);
    CHECK(shmemx_kernel_test(first) == 0 && shmemx_kernel_test(last) == 0);
    shmem_barrier_all();
    held = 0;
    long *flag = (long *)shmemx_import(group, "flag", sizeof(long));
    REQUIRE(flag != NULL);
    for (int i = 0; me == 0 && i < n; i++)
        shmem_long_p(flag, 1, shmemx_group_pe(group, i));
    shmemx_kernel_wait(first);
    CHECK(shmemx_kernel_test(first) == 1);
    while (!shmemx_kernel_test(last))
        continue;
    expect(CALLS / 1000 + 1);
}

/* More calls than there is room for, on slow PEs. */
static void full(void)
{
    enum { CALLS = 30, SIZE = 4 << 20 };
    unsigned char *bytes = (unsigned char *)calloc(SIZE, 1);
    shmemx_request_t last = SHMEMX_REQUEST_INVALID;
    for (int i = 0; i < CALLS; i++)
        last = shmemx_kernel_call(group, "nap", 10000, SHMEMX_ARRAY(bytes, SIZE));
    done(last, CALLS);
    free(bytes);
}

int main(int argc, char **argv)
{
    shmem_init();
    if (shmemx_group_parents() != SHMEMX_GROUP_INVALID) {
        CHECK(shmemx_kernel_serve() > HELD);
        CHECK(shmemx_kernel_serve() == 0);
        return finish();
    }
    CHECK(shmemx_kernel_serve() == -1);
    shmemx_export("sum", &sum, sizeof sum);
    shmemx_export("held", &held, sizeof held);
    shmemx_export("failures", &failures, sizeof failures);
    n = atoi(argv[1]);
    me = shmem_my_pe();
    const char *program = argc > 2 ? argv[2] : argv[0];
    REQUIRE(shmemx_spawn(SHMEM_TEAM_WORLD, 0, program, n, NULL, 0, &group) == 0);
    plain();
    some_arrays();
    batches();
    held_calls();
    full();
    static long mine = 100, theirs;
    shmemx_kernel_call(group, "together", 5);
    CHECK(shmemx_long_group_sum_reduce(group, &theirs, &mine, 1) == 0);
    CHECK(theirs == n * 5 + n * (n - 1) / 2, "%ld", theirs);
    done(shmemx_kernel_call(group, "has_slept", 0), 1);
    usleep(300000);
    shmem_barrier_all();
    done(shmemx_kernel_call(group, "has_slept", 1), 1);
    shmemx_request_t last = shmemx_kernel_call(group, "report");
    shmemx_kernel_wait(last);
    CHECK(failures == 0);
    last = shmemx_kernel_call(group, "report");
    shmemx_group_disconnect(group);
    CHECK(shmemx_kernel_test(last) == 1);
    shmemx_kernel_wait(last);
    return finish();
}
