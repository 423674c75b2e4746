/* NAS Parallel Benchmark SP: the three-dimensional compressible Navier-Stokes equations by
 * approximate factorisation into scalar pentadiagonal systems along each axis; from the
 * description in RNR-94-007, over OpenSHMEM, with the multi-partition scheme. */
#include <shmem.h>
#include <stdio.h>

#include "benchmark.h"
#include "exact.h"
#include "exchange.h"
#include "field.h"
#include "flag.h"
#include "reduce.h"
#include "rhs.h"
#include "sweep.h"
#include "variant.h"
#include "verify.h"

static void make_all(void)
{
    heap_needed(fields_size() + flags_size() + sweeps_size());
    fields_make();
    flags_make();
    sweeps_make();
    forcing_make();
}

static void step(long number)
{
    faces_await(number - 1);
    for (int axis = X; axis < AXES; axis++)
        sweep(axis, number);
    faces_send(number);
}

/* One step that is not timed, which touches all memory; then the starting field again. */
static void warm_up(void)
{
    step(1);
    shmem_barrier_all();
    fields_fill(start_solution);
    shmem_barrier_all();
}

static double run(void)
{
    double start = seconds();
    for (int i = 0; i < problem.iterations; i++) {
        if (shmem_my_pe() == 0 && (i == 0 || (i + 1) % 20 == 0))
            printf(" Time step %4d\n", i + 1);
        step(2 + i);
    }
    faces_await(1 + problem.iterations);
    return max_double(seconds() - start);
}

/* Millions of operations per second; their number is a formula of the benchmark. */
static double rate(double time)
{
    double n = problem.points;
    double operations = 881.174 * n * n * n - 4683.91 * n * n + 11484.5 * n - 19272.4;
    return operations * problem.iterations / (time * 1e6);
}

int main(int argc, char **argv)
{
    problem_choose(benchmark_start(argc, argv, "SP", "SWABC"));
    partition_make();
    make_all();
    if (shmem_my_pe() == 0)
        printf("\n\n NAS Parallel Benchmarks - SP Benchmark\n\n Size: %4dx%4dx%4d\n"
               " Iterations: %4d    dt: %11.7f\n Number of active processes: %5d\n\n",
               problem.points, problem.points, problem.points, problem.iterations, problem.dt,
               shmem_n_pes());
    warm_up();
    double time = run();
    Report report = {.name = "SP", .class = problem.class,
                     .size = {problem.points, problem.points, problem.points},
                     .iterations = problem.iterations, .seconds = time, .mops = rate(time),
                     .operation = "floating point", .variant = VARIANT, .verified = verify()};
    report_print(&report);
    return benchmark_end(&report);
}
