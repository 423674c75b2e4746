/* Data of many puts: a part of the destination for each PE that puts. */
#include "puts_data.h"

#include <string.h>

static size_t source_bytes(size_t bytes, int pes)
{
    (void)pes;
    return EACH * bytes;
}

static size_t dest_bytes(size_t bytes, int pes)
{
    return EACH * bytes * (size_t)pes;
}

static long value(int pe, int word)
{
    return ((long)pe << 16) + word + 1;
}

static void fill(const struct transfer *t)
{
    for (int i = 0; i < EACH; i++)
        ((long *)t->source)[i] = value(t->me, i);
    memset(t->dest, 0, dest_bytes(t->bytes, t->pes));
}

static bool check_one(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    for (int i = 0; i < EACH; i++)
        if (place(t, 0)[i] != value(0, i))
            return false;
    return true;
}

static bool check_all(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    for (int pe = 0; pe < t->pes; pe++)
        for (int i = 0; i < EACH; i++)
            if (place(t, pe)[i] != (target(t, pe, i) == t->me ? value(pe, i) : 0))
                return false;
    return true;
}

const struct data one_to_all_data = {source_bytes, dest_bytes, fill, check_one};
const struct data all_to_all_data = {source_bytes, dest_bytes, fill, check_all};
