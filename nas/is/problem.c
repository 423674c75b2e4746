/* The problem classes of IS: sizes and test values as published with the NAS Parallel Benchmarks
 * (NAS reports RNR-94-007 and NAS-95-020, and their successors). */
#include "problem.h"

#include <stddef.h>

static const Problem problems[] = {
    {'S', 16, 11, 128,
     {{48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0},
      {4431, 65463, -1, 0}}},
    {'W', 20, 16, MOST_PES,
     {{357773, 1249, 1, 2}, {934767, 11698, 1, 2}, {875723, 1039987, -1, 0},
      {898999, 1043896, -1, 0}, {404505, 1048018, -1, 0}}},
    {'A', 23, 19, MOST_PES,
     {{2112377, 104, 1, 1}, {662041, 17523, 1, 1}, {5336171, 123928, 1, 1},
      {3642833, 8288932, -1, 1}, {4250760, 8388264, -1, 1}}},
    {'B', 25, 21, MOST_PES,
     {{41869, 33422937, -1, 0}, {812306, 10244, 1, 0}, {5102857, 59149, 1, 0},
      {18232239, 33135281, -1, 0}, {26860214, 99, 1, 0}}},
    {'C', 27, 23, MOST_PES,
     {{44172927, 61147, 1, 0}, {72999161, 882988, 1, 0}, {74326391, 266290, 1, 0},
      {129606274, 133997595, -1, 0}, {21736814, 133525895, -1, 0}}},
};

enum { PROBLEMS = sizeof problems / sizeof problems[0] };

const char *problem_classes(void)
{
    static char classes[PROBLEMS + 1];
    for (size_t i = 0; i < PROBLEMS; i++)
        classes[i] = problems[i].class;
    return classes;
}

const Problem *problem_of(char class)
{
    for (size_t i = 0; i < PROBLEMS; i++)
        if (problems[i].class == class)
            return &problems[i];
    return NULL;
}
