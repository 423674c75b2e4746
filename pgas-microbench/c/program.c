/* A program: a list of operations, measured one after another. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "measure.h"
#include "row.h"

enum { WINDOW_BYTES = 16 << 20 }; /* a window of large operations is shorter */

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool known(const struct program *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->operations[i].name, name) == 0)
            return true;
    return false;
}

static void explain(const struct program *p)
{
    if (job_pe() != 0)
        return;
    options_explain(p->name, p->least);
    printf("Operations:");
    for (int i = 0; i < p->count; i++) {
        bool first = true; /* forms of an operation may be far apart in the list */
        for (int j = 0; j < i; j++)
            first = first && strcmp(p->operations[j].name, p->operations[i].name) != 0;
        if (first)
            printf(" %s", p->operations[i].name);
    }
    putchar('\n');
}

static bool fits(const struct program *p, const struct operation *o, size_t bytes, int pes)
{
    size_t both = o->data->source_bytes(bytes, pes) + o->data->dest_bytes(bytes, pes);
    return p->memory == 0 || both <= p->memory / (size_t)pes;
}

/* Allocates buffers for the largest sizes of all operations to measure. */
static void allocate(const struct program *p, const struct options *options, struct transfer *t)
{
    size_t source = 1, dest = 1, list[MOST_SIZES];
    for (int i = 0; i < p->count; i++) {
        const struct operation *o = &p->operations[i];
        int sizes = options_want(options, o->name) ? sizes_of(o->sizes, options, list) : 0;
        for (int s = 0; s < sizes; s++) {
            if (!fits(p, o, list[s], t->pes))
                continue;
            source = greater(source, o->data->source_bytes(list[s], t->pes));
            dest = greater(dest, o->data->dest_bytes(list[s], t->pes));
        }
    }
    void *(*memory)(size_t) = p->windows ? job_window : job_buffer;
    t->source = memory(source);
    t->dest = t->source == NULL ? NULL : memory(dest);
    if (t->dest == NULL)
        job_refuse("%s: no memory for two buffers of %zu and %zu bytes on each PE (-M makes them "
                   "smaller)", p->name, source, dest);
}

/* Whether `here` is true on all PEs. */
static bool everywhere(bool here)
{
    int pes = job_pes();
    bool everywhere = true;
    double mine = here, *all = malloc((size_t)pes * sizeof *all);
    if (all == NULL)
        abort();
    job_share(&mine, 1, all);
    for (int pe = 0; pe < pes; pe++)
        everywhere = everywhere && all[pe] != 0;
    free(all);
    return everywhere;
}

/* Runs the operation a few times, which warms up caches, and checks the data. */
static void verify(const struct program *p, const struct operation *o, const struct transfer *t)
{
    enum { REPETITIONS = 3 };
    /* A second collective may write data of the first one that other PEs have not read yet. */
    long repetitions = o->quantity == CALL_LATENCY ? 1 : REPETITIONS;
    o->data->fill(t);
    job_barrier();
    if (o->part != ORIGINS || t->origin)
        o->run(t, repetitions);
    job_barrier();
    if (!everywhere(o->data->check(t, repetitions)))
        job_refuse("%s: %s (%s) of %zu bytes gives wrong data", p->name, o->name, o->form,
                   t->bytes);
}

static void series(const struct program *p, const struct operation *o,
                   const struct options *options, struct transfer t)
{
    size_t list[MOST_SIZES];
    int sizes = sizes_of(o->sizes, options, list), left_out = 0;
    t.part = o->part;
    t.peer = peer_of(o->part, t.me, t.pes);
    if (o->available != NULL && !everywhere(o->available(&t))) {
        print_comment("%s,%s: left out, memory of other PEs cannot be reached by load and store",
                      o->name, o->form);
        return;
    }
    for (int s = 0; s < sizes; s++) {
        t.bytes = list[s];
        if (!fits(p, o, t.bytes, t.pes)) {
            left_out++;
            continue;
        }
        t.window = o->window;
        if (t.bytes > 0 && WINDOW_BYTES / t.bytes < (size_t)o->window)
            t.window = (int)greater(WINDOW_BYTES / t.bytes, 1);
        verify(p, o, &t);
        print_row(o, &t, measure(o, &t, options->seconds));
    }
    /* Ends what messages have begun. */
    if (o->part == BOTH)
        o->run(&t, 0);
    if (left_out > 0)
        print_comment("%s,%s: %d larger sizes left out, %d PEs would need more than %zu MiB",
                      o->name, o->form, left_out, t.pes, p->memory >> 20);
    if (sizes == 0)
        print_comment("%s,%s: no size from %zu to %zu bytes that it can have", o->name, o->form,
                      options->least, options->most);
}

int program_run(const struct program *p, int argc, char **argv)
{
    char library[256];
    job_start(&argc, &argv);
    struct options options = options_read(p->name, p->least, argc, argv);
    struct transfer t = {.me = job_pe(), .pes = job_pes()};
    t.origin = t.me < t.pes / 2;
    if (options.help) {
        explain(p);
        job_end();
        return EXIT_SUCCESS;
    }
    for (int i = 0; i < options.name_count; i++)
        if (!known(p, options.names[i]))
            job_refuse("%s: there is no operation '%s' (-h lists them)", p->name, options.names[i]);
    if (p->pairs && t.pes % 2 != 0)
        job_refuse("%s: pairs need an even number of PEs, not %d", p->name, t.pes);
    if (p->most_pes > 0 && t.pes > p->most_pes)
        job_refuse("%s: at most %d PEs have a part of the work, not %d", p->name, p->most_pes, t.pes);
    allocate(p, &options, &t);
    measure_begin(options.samples);
    job_library(library, sizeof library);
    print_comment("%s: %s", p->name, p->what);
    print_comment("%s, %d PEs", library, t.pes);
    print_header();
    for (int i = 0; i < p->count; i++)
        if (options_want(&options, p->operations[i].name))
            series(p, &p->operations[i], &options, t);
    job_end();
    return EXIT_SUCCESS;
}
