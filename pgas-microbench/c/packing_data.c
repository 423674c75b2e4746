/* Data of packing: every second block of the source. */
#include "packing_data.h"

#include <string.h>

static size_t source_bytes(size_t bytes, int pes)
{
    (void)bytes, (void)pes;
    return 2 * AREA;
}

static size_t dest_bytes(size_t bytes, int pes)
{
    (void)bytes, (void)pes;
    return AREA;
}

/* Differs between PEs and between words of the same array. */
static uint64_t pattern(int pe, size_t word)
{
    return ((uint64_t)pe << 40) + word + 1;
}

static void fill(const struct transfer *t)
{
    uint64_t *source = (uint64_t *)t->source;
    for (size_t i = 0; i < 2 * AREA / sizeof *source; i++)
        source[i] = pattern(t->me, i);
    memset(t->dest, 0, AREA);
}

/* The PE whose partner this one is has written here, or this one has read its partner's. */
static bool check(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    const uint64_t *dest = (const uint64_t *)t->dest;
    const size_t block = t->bytes / sizeof *dest;
    const int back = partner_back(t), forth = partner(t);
    const int pe = dest[0] == pattern(back, 0) ? back : forth;
    for (size_t i = 0; i < AREA / t->bytes * block; i++)
        if (dest[i] != pattern(pe, i / block * 2 * block + i % block))
            return false;
    return true;
}

const struct data packing_data = {source_bytes, dest_bytes, fill, check};
