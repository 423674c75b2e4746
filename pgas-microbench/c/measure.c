/* Times one point: an operation at a size.
 *
 * A sample is a number of repetitions, the same on all PEs, between two readings of the clock on
 * each PE, after a barrier. All PEs exchange their times and compute the same results from them. */
#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "job.h"

enum { TRIES = 2 };                        /* of a calibration step: a disturbed one is ignored */
static const double SHORTEST = 20e-6;      /* seconds; the clock resolves a thousandth of it */
static const double MOST_GROWTH = 100;     /* from one calibration step to the next */
static const double INSTANT = 1e-9;        /* time of a run below the resolution */

struct run {
    double start, end;
};

static int room;
static bool same_clock;
static struct run *mine, *all; /* all: the runs of PE i from all[i * number of runs] */
static double *samples;

void measure_begin(int most)
{
    room = most > TRIES ? most : TRIES;
    mine = malloc((size_t)room * sizeof *mine);
    all = malloc((size_t)room * (size_t)job_pes() * sizeof *all);
    samples = malloc((size_t)room * sizeof *samples);
    if (mine == NULL || all == NULL || samples == NULL)
        abort();
    same_clock = clock_is_shared();
}

static void take(const struct operation *o, const struct transfer *t, long repetitions, int runs)
{
    bool run = t->part != ORIGINS || t->origin;
    for (int i = 0; i < runs; i++) {
        job_barrier();
        mine[i].start = clock_now();
        if (run)
            o->run(t, repetitions);
        mine[i].end = clock_now();
    }
    job_share(&mine->start, 2 * (size_t)runs, &all->start);
}

/* What a run took: its shortest, mean and longest time on a PE that counts, and the time from the
 * first of those to start to the last to end. */
struct duration {
    double least, mean, span;
};

static struct duration duration(const struct transfer *t, int i, int runs)
{
    struct duration d = {INFINITY, 0, 0};
    double first = INFINITY, last = -INFINITY, longest = 0;
    int counting = 0;
    for (int pe = 0; pe < t->pes; pe++) {
        if (!counts(t->part, pe, t->pes))
            continue;
        const struct run *run = &all[pe * runs + i];
        double own = fmax(run->end - run->start, INSTANT);
        counting++;
        d.mean += own;
        d.least = fmin(d.least, own);
        longest = fmax(longest, own);
        first = fmin(first, run->start);
        last = fmax(last, run->end);
    }
    d.mean /= counting;
    d.span = same_clock ? fmax(last - first, longest) : longest;
    return d;
}

/* The better of some tries. */
static struct duration try(const struct operation *o, const struct transfer *t, long repetitions)
{
    take(o, t, repetitions, TRIES);
    struct duration best = duration(t, 0, TRIES);
    for (int i = 1; i < TRIES; i++) {
        struct duration d = duration(t, i, TRIES);
        best.least = fmin(best.least, d.least);
        best.span = fmin(best.span, d.span);
    }
    return best;
}

/* How many repetitions make a sample of `seconds` for all PEs together, long enough for the clock
 * on each; `span` becomes the time that they take. */
static long calibrate(const struct operation *o, const struct transfer *t, double seconds,
                      double *span)
{
    long repetitions = 1;
    for (;;) {
        struct duration d = try(o, t, repetitions);
        double growth = fmax(SHORTEST / d.least, seconds / d.span);
        double next = (double)repetitions * fmax(fmin(growth, MOST_GROWTH), 1);
        double grown = floor(next) / (double)repetitions;
        repetitions = (long)next;
        *span = d.span * grown;
        if (growth <= 2)
            return repetitions;
    }
}

static double value(const struct operation *o, const struct transfer *t, long repetitions,
                    struct duration d)
{
    double operations = (double)repetitions * t->window;
    double everywhere = operations * (t->part == EVERYONE ? t->pes : t->pes / 2);
    switch (o->quantity) {
    case OWN_LATENCY: return d.mean / operations * 1e6;
    case CALL_LATENCY: return d.span / operations * 1e6;
    case BANDWIDTH: return everywhere * (double)t->bytes / d.span * 1e-6;
    default: return everywhere / d.span * 1e-6;
    }
}

struct measurement measure(const struct operation *o, const struct transfer *t, double seconds)
{
    double span;
    long repetitions = calibrate(o, t, seconds / room, &span);
    double wanted = fmin(seconds / span, room);
    int count = wanted < LEAST_SAMPLES ? LEAST_SAMPLES : (int)wanted;
    take(o, t, repetitions, count);
    for (int i = 0; i < count; i++)
        samples[i] = value(o, t, repetitions, duration(t, i, count));
    return (struct measurement){count, summarise(samples, count)};
}
