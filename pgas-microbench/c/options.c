/* The command line, the same for every program. */
#include "options.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

enum { DEFAULT_MILLISECONDS = 200, DEFAULT_SAMPLES = 21, DEFAULT_FACTOR = 2 };
enum { MOST_MILLISECONDS = 3600 * 1000, MOST_FACTOR = 1 << 20 };
/* MPI counts bytes by int. */
static const size_t DEFAULT_MOST = (size_t)8 << 20, MOST_BYTES = (size_t)1 << 30;

static size_t number(const char *program, int option, size_t low, size_t high)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(optarg, &end, 10);
    bool digits = optarg[0] >= '0' && optarg[0] <= '9' && *end == '\0';
    if (!digits || errno != 0 || value < low || value > high)
        job_refuse("%s: -%c takes a number from %zu to %zu, not '%s'", program, option, low, high,
                   optarg);
    return (size_t)value;
}

struct options options_read(const char *program, size_t least, int argc, char **argv)
{
    struct options o = {
        .seconds = DEFAULT_MILLISECONDS * 1e-3,
        .samples = DEFAULT_SAMPLES,
        .least = least,
        .most = DEFAULT_MOST,
        .factor = DEFAULT_FACTOR,
    };
    opterr = 0; /* every PE reads the command line, one of them prints errors */
    for (int c; (c = getopt(argc, argv, ":t:s:m:M:f:h")) != -1;) {
        switch (c) {
        case 't': o.seconds = 1e-3 * (double)number(program, c, 1, MOST_MILLISECONDS); break;
        case 's': o.samples = (int)number(program, c, LEAST_SAMPLES, MOST_SAMPLES); break;
        case 'm': o.least = number(program, c, 1, MOST_BYTES); break;
        case 'M': o.most = number(program, c, 1, MOST_BYTES); break;
        case 'f': o.factor = number(program, c, 2, MOST_FACTOR); break;
        case 'h': o.help = true; break;
        case ':': job_refuse("%s: -%c takes a number", program, optopt);
        default: job_refuse("%s: there is no option -%c (-h lists them)", program, optopt);
        }
    }
    if (o.least > o.most)
        job_refuse("%s: sizes cannot go from %zu (-m) to %zu (-M)", program, o.least, o.most);
    o.names = argv + optind;
    o.name_count = argc - optind;
    return o;
}

void options_explain(const char *program, size_t least)
{
    printf("Usage: %s [OPTION]... [OPERATION]...\n"
           "  -t MILLISECONDS  time for one point (default %d)\n"
           "  -s SAMPLES       samples of one point, at least %d (default %d)\n"
           "  -m BYTES         smallest size (default %zu)\n"
           "  -M BYTES         largest size (default %zu)\n"
           "  -f FACTOR        from a size to the next (default %d)\n"
           "  -h               this\n",
           program, DEFAULT_MILLISECONDS, LEAST_SAMPLES, DEFAULT_SAMPLES, least, DEFAULT_MOST,
           DEFAULT_FACTOR);
}

bool options_want(const struct options *options, const char *operation)
{
    for (int i = 0; i < options->name_count; i++)
        if (strcmp(options->names[i], operation) == 0)
            return true;
    return options->name_count == 0;
}
