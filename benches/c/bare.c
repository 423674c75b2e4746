/* The loops of kernels.c as loads and stores. */
#include "scalars.h"

void bare_p(long *there, long value)
{
    for (int i = 0; i < ELEMENTS; i++)
        there[i] = value + i;
}

void bare_g(const long *there, long *sum)
{
    long total = 0;
    for (int i = 0; i < ELEMENTS; i++)
        total += there[i];
    *sum = total;
}

void bare_put(long *there, const long *local)
{
    for (int i = 0; i < ELEMENTS; i++)
        there[i] = local[i];
}

void bare_get(const long *there, long *local)
{
    for (int i = 0; i < ELEMENTS; i++)
        local[i] = there[i];
}
