/* Data of atomic operations: one counter on each PE, and the effect of each PE on another one's. */
#include "tally.h"

#include <stdlib.h>

#include "job.h"

struct tally tally;

static size_t nothing(size_t bytes, int pes)
{
    (void)bytes, (void)pes;
    return 0;
}

static size_t counter(size_t bytes, int pes)
{
    (void)pes;
    return bytes;
}

static void fill(const struct transfer *t)
{
    *(long *)t->dest = INITIAL;
    tally = (struct tally){0, 0};
}

/* Sums the effects of the PEs that operate on this PE's counter. */
struct total {
    double added, old;
    int operators;
};

static struct total total_here(const struct transfer *t)
{
    double mine[] = {(double)tally.added, (double)tally.old};
    double *all = malloc((size_t)t->pes * sizeof mine);
    if (all == NULL)
        abort();
    job_share(mine, 2, all);
    struct total total = {0, 0, 0};
    for (int pe = 0; pe < t->pes; pe++) {
        if (!counts(t->part, pe, t->pes) || peer_of(t->part, pe, t->pes) != t->me)
            continue;
        total.added += all[2 * pe];
        total.old += all[2 * pe + 1];
        total.operators++;
    }
    free(all);
    return total;
}

static bool check_sum(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return (double)(*(long *)t->dest - INITIAL) == total_here(t).added;
}

static bool check_steps(const struct transfer *t, long repetitions, double step)
{
    struct total total = total_here(t);
    double operations = (double)repetitions * total.operators;
    return (double)(*(long *)t->dest - INITIAL) == step * operations
        && total.old == step * operations * (operations - 1) / 2;
}

static bool check_step_1(const struct transfer *t, long repetitions)
{
    return check_steps(t, repetitions, 1);
}

static bool check_step(const struct transfer *t, long repetitions)
{
    return check_steps(t, repetitions, STEP);
}

static bool check_set(const struct transfer *t, long repetitions)
{
    bool was_set = total_here(t).operators > 0;
    return *(long *)t->dest == INITIAL + (was_set ? repetitions : 0);
}

const struct data sum_data = {nothing, counter, fill, check_sum};
const struct data step_1_data = {nothing, counter, fill, check_step_1};
const struct data step_data = {nothing, counter, fill, check_step};
const struct data set_data = {nothing, counter, fill, check_set};
