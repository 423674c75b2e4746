/* IS, the integer sort of the NAS Parallel Benchmarks, over OpenSHMEM.
 *
 *     oshrun -n PES is-putget CLASS
 *
 * All keys are ranked ten times; before each time, two keys are changed. Written from the
 * description in NAS report RNR-94-007, "The NAS Parallel Benchmarks", section 2.3.6, and in its
 * successors. */
#include <shmem.h>

#include "benchmark.h"
#include "problem.h"
#include "ranking.h"
#include "reduce.h"
#include "variant.h"
#include "verify.h"

/* Changes two keys of PE 0, as each iteration does. */
static void change_keys(Ranking *r, int iteration)
{
    if (r->me == 0) {
        r->key[iteration] = iteration;
        r->key[iteration + ITERATIONS] = (1 << r->problem->log2_max_key) - iteration;
    }
}

int main(int argc, char **argv)
{
    char class = benchmark_start(argc, argv, "IS", problem_classes());
    const Problem *problem = problem_of(class);
    Ranking r;
    ranking_start(&r, problem);

    /* One iteration that is not timed: it touches all memory and code. */
    change_keys(&r, 1);
    ranking_run(&r);

    int right = 0;
    shmem_barrier_all();
    double begin = seconds();
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        change_keys(&r, iteration);
        ranking_run(&r);
        right += verify_tests(&r, iteration);
    }
    double took = max_double(seconds() - begin);

    bool tests_right = sum_long(right) == TESTS * ITERATIONS, ordered = verify_order(&r);
    double keys = (double)((long)1 << problem->log2_keys);
    Report report = {
        .name = "IS",
        .class = class,
        .size = {(long)keys},
        .iterations = ITERATIONS,
        .seconds = took,
        .mops = 1e-6 * ITERATIONS * keys / took,
        .operation = "keys ranked",
        .variant = VARIANT,
        .verified = tests_right && ordered,
    };
    report_print(&report);
    ranking_end(&r);
    return benchmark_end(&report);
}
