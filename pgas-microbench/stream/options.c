/* Options of the STREAM programs.
 *
 * By the rules of STREAM, arrays are at least four times as large as all last-level caches
 * together. That can be more than the memory of a virtual machine, which sees the whole cache of
 * a large server: the arrays then get half of the memory. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>

#include "machine.h"
#include "workers.h"

enum { ARRAYS = 3, CACHES = 4, LINE = 64 / sizeof(double) };
#define MIB ((size_t)1 << 20)

/* Assumed size of an unknown cache. */
#define CACHE_UNKNOWN (32 * MIB)

#define USAGE "usage: [-n ELEMENTS] [--cap MIB] [--reduce-every REPETITIONS]"

static size_t number(const char *option, const char *text, size_t least, size_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least
        || value > most)
        workers_refuse("%s %s: give a whole number from %zu to %zu", option, text, least, most);
    return (size_t)value;
}

size_t options_cache(const Options *options)
{
    return options->cache > 0 ? options->cache : CACHE_UNKNOWN;
}

/* The elements that the rule requires, or as many as fit in `memory` with all arrays of all
 * workers. */
static size_t default_elements(const Options *options, size_t memory)
{
    size_t share = sizeof(double) * (size_t)workers() * LINE;
    size_t rule = (CACHES * options_cache(options) + share - 1) / share * LINE;
    size_t fits = memory / (ARRAYS * share) * LINE;
    return rule < fits ? rule : fits > 0 ? fits : LINE;
}

int options_follow_rule(const Options *options)
{
    size_t bytes = options->elements * sizeof(double) * (size_t)workers();
    return bytes >= CACHES * options_cache(options);
}

Options options_read(int argc, char **argv)
{
    static const struct option names[] = {
        {"cap", required_argument, NULL, 'c'},
        {"reduce-every", required_argument, NULL, 'r'},
        {NULL, 0, NULL, 0},
    };
    size_t memory = machine_memory(), worker_bytes = ARRAYS * sizeof(double) * (size_t)workers();
    Options options = {.reduce_every = 1, .cache = machine_cache()};
    size_t cap = memory / 2;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "+n:", names, NULL)) != -1;) {
        if (option == 'n') {
            options.elements = number("-n", optarg, 1, memory / worker_bytes);
        } else if (option == 'c') {
            size_t mib = number("--cap", optarg, 1, SIZE_MAX / MIB);
            cap = mib * MIB < cap ? mib * MIB : cap;
        } else if (option == 'r') {
            options.reduce_every = (int)number("--reduce-every", optarg, 0, 1000);
        } else {
            workers_refuse("%s", USAGE);
        }
    }
    if (optind != argc)
        workers_refuse("%s", USAGE);
    if (options.elements == 0)
        options.elements = default_elements(&options, cap);
    return options;
}
