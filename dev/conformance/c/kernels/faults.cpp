/* What may go wrong with kernels: the first argument says what does. Started PEs get a second one. */
#include "../check.h"

#include <shmemx.h>
#include <signal.h>
#include <stdexcept>
#include <unistd.h>

static const char *way;

static int is(const char *name)
{
    return strcmp(way, name) == 0;
}

SHMEMX_KERNEL(scale, double, int, const float *)
void scale(double, int, const float *) {}

SHMEMX_KERNEL(fail)
void fail()
{
    if (is("throws") && shmem_my_pe() == 1)
        throw std::runtime_error("no more rays");
    if (is("throws-a-number"))
        throw 5;
    if (is("exits") && shmem_my_pe() == 1)
        exit(7);
    if (is("ends-all"))
        shmem_global_exit(7);
    if (is("crashes") && shmem_my_pe() == 0)
        raise(SIGSEGV);
    if (is("serves-again"))
        shmemx_kernel_serve();
    if (is("disconnects"))
        shmemx_group_disconnect(shmemx_group_parents());
    if (is("finalizes"))
        shmem_finalize();
    if (is("calls-back"))
        shmemx_kernel_call(shmemx_group_parents(), "fail");
}

static void child()
{
    if (is("never-serves"))
        return;
    if (is("leaves-early")) {
        shmemx_group_t parents = shmemx_group_parents();
        shmemx_group_sync(parents);
        long *pids = (long *)shmemx_import(parents, "pids", 2 * sizeof(long));
        shmem_long_p(&pids[shmem_my_pe()], getpid(), shmemx_group_pe(parents, 0));
        return;
    }
    shmemx_kernel_serve();
}

static int sleeps(long pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *stat = fopen(path, "r");
    if (stat) {
        if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        fclose(stat);
    }
    return state == 'S';
}

static void parent(shmemx_group_t group)
{
    static long pids[2];
    shmemx_export("pids", pids, sizeof pids);
    float some[3] = {1, 2, 3};
    shmemx_request_t request = SHMEMX_REQUEST_INVALID;
    if (is("leaves-early")) {
        shmemx_group_sync(group);
        if (shmem_my_pe() == 0) {
            shmem_long_wait_until_all(pids, 2, NULL, SHMEM_CMP_GT, 0);
            /* PEs that have left sleep until the others disconnect, too; on the way to that, one of them runs. */
            for (int looks = 0; looks < 40; usleep(5000))
                looks = sleeps(pids[0]) && sleeps(pids[1]) ? looks + 1 : 0;
        }
        shmem_barrier_all();
    }
    if (is("no-kernel"))
        request = shmemx_kernel_call(group, "scal", 1.0, 2, SHMEMX_ARRAY(some, 3));
    else if (is("count"))
        request = shmemx_kernel_call(group, "scale", 1.0, 2);
    else if (is("size"))
        request = shmemx_kernel_call(group, "scale", 1.0, 2L, SHMEMX_ARRAY(some, 3));
    else if (is("kind"))
        request = shmemx_kernel_call(group, "scale", 1L, 2, SHMEMX_ARRAY(some, 3));
    else if (is("elements"))
        request = shmemx_kernel_call(group, "scale", 1.0, 2, SHMEMX_ARRAY("abc", 3));
    else if (is("no-array"))
        request = shmemx_kernel_call(group, "scale", 1.0, 2, 1.0f);
    else if (is("pointer")) {
        const float *pointer = some;
        shmemx_kernel_arg_t args[] = {{&pointer, sizeof pointer, 1, SHMEMI_KIND_POINTER}};
        shmemx_kernel_arg_t all[] = {shmemi::argument(1.0), shmemi::argument(2), args[0]};
        shmemx_kernel_call_t call = {"scale", 3, all};
        request = shmemx_kernel_call_multiple(group, 1, &call);
    } else if (is("no-name"))
        request = shmemx_kernel_call(group, NULL);
    else if (is("no-calls"))
        request = shmemx_kernel_call_multiple(group, 2, NULL);
    else if (is("late-kernel"))
        request = shmemx_kernel_call(group, "late");
    else if (is("late-twin"))
        request = shmemx_kernel_call(group, "scale", 1.0, 2, SHMEMX_ARRAY(some, 3));
    else
        request = shmemx_kernel_call(group, "fail");
    shmemx_kernel_wait(request);
}

int main(int argc, char **argv)
{
    way = argv[1];
    static const shmemx_kernel_param_t none = {0, 0};
    static shmemx_kernel_t twin = {NULL, "scale", "", &none, 0, NULL};
    if (is("twins") && argc > 2)
        shmemx_kernel_register(&twin);
    shmem_init();
    if (argc > 2) {
        /* As a shared object does that is opened now. */
        static shmemx_kernel_t late = {NULL, is("late-kernel") ? "late" : "scale", "", &none, 0, NULL};
        if (is("late-kernel") || is("late-twin"))
            shmemx_kernel_register(&late);
        child();
    } else {
        char started[] = "started", *args[] = {argv[1], started, NULL};
        shmemx_spawn_config_t config = {};
        config.argv = args;
        shmemx_group_t group;
        if (shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], 2, &config, SHMEMX_SPAWN_ARGV, &group) != 0)
            return 1;
        parent(group);
    }
    shmem_finalize();
    return 0;
}
