/* Options of graph500. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

#define USAGE                                                                         \
    "usage: [-s SCALE] [-e EDGEFACTOR] [--searches N] [--validate N] [--claim set|swap] [--top-down]"

static int number(const char *option, const char *text, int least, int most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least
        || value > most)
        refuse("%s %s: give a whole number from %d to %d", option, text, least, most);
    return (int)value;
}

static Claim claim(const char *text)
{
    if (strcmp(text, "set") != 0 && strcmp(text, "swap") != 0)
        refuse("--claim %s: give set or swap", text);
    return strcmp(text, "set") == 0 ? CLAIM_SET : CLAIM_SWAP;
}

Options options_read(int argc, char **argv)
{
    static const struct option names[] = {
        {"searches", required_argument, NULL, 'n'},
        {"validate", required_argument, NULL, 'v'},
        {"claim", required_argument, NULL, 'c'},
        {"top-down", no_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    Options options = {
        .scale = 16, .edgefactor = 16, .searches = 64, .validated = -1, .bottom_up = 1};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "+s:e:", names, NULL)) != -1;) {
        switch (option) {
        case 's': options.scale = number("-s", optarg, 1, 30); break;
        case 'e': options.edgefactor = number("-e", optarg, 1, 1024); break;
        case 'n': options.searches = number("--searches", optarg, 1, 1024); break;
        case 'v': options.validated = number("--validate", optarg, 0, 1024); break;
        case 'c': options.claim = claim(optarg); break;
        case 't': options.bottom_up = 0; break;
        default: refuse("%s", USAGE);
        }
    }
    if (optind != argc)
        refuse("%s", USAGE);
    if (options.validated < 0 || options.validated > options.searches)
        options.validated = options.searches;
    return options;
}
