/* Work of different length on each PE: lateness as programs have it. */
#ifndef UNEVEN_H
#define UNEVEN_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A number in (0, 1] that depends on its arguments alone (splitmix64, https://prng.di.unimi.it/splitmix64.c). */
static double draw(long call, int pe)
{
    uint64_t x = ((uint64_t)call << 16 | (uint64_t)pe) * 0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return ((double)((x ^ x >> 31) >> 11) + 1) * 0x1p-53;
}

enum { BURST = 8 };

/* Work of PE `pe` of `pes` before a call, in microseconds; negative if there is no such distribution.
 *
 * uniform      0 to 2 mean
 * exponential
 * pareto       heavy tail: the chance of more than x is (mean / 2x)^2
 * slow-pe      the last PE takes twice as long as the others
 * bursts       exponential with 8 times the mean before every 8th call, else none */
static double work_before(const char *distribution, double mean, long call, int pe, int pes)
{
    const double u = draw(call, pe);
    if (strcmp(distribution, "uniform") == 0)
        return 2 * mean * u;
    if (strcmp(distribution, "exponential") == 0)
        return -mean * log(u);
    if (strcmp(distribution, "pareto") == 0)
        return mean / 2 / sqrt(u);
    if (strcmp(distribution, "slow-pe") == 0)
        return pe == pes - 1 ? 2 * mean : mean;
    if (strcmp(distribution, "bursts") == 0)
        return call % BURST == 0 ? -BURST * mean * log(u) : 0;
    return -1;
}

#endif
