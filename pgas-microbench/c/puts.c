/* Many short non-blocking puts, and one quiet: from one PE to all, and from all to all, in turn. */
#include <shmem.h>
#include <string.h>

#include "program.h"

/* Puts of a repetition: of each PE, or of one PE to each. */
enum { EACH = 64 };

/* The repetition that has ended, on the PEs that wait for it. */
static long ended;
static long repetition;

/* Where the puts of a PE begin. */
static long *place(const struct transfer *t, int pe)
{
    return (long *)t->dest + (size_t)pe * EACH;
}

/* Where a PE's put goes in turn: the PEs begin with different ones. */
static int target(const struct transfer *t, int pe, int i)
{
    return (pe + i) % t->pes;
}

/* The other PEs wait for the end, so that their time is that of all puts. */
static void one_to_all(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    long *const to = place(&t, t.me);
    const long *const from = (const long *)t.source;
    for (long r = 0; r < repetitions; r++) {
        repetition++;
        if (t.me == 0) {
            for (int i = 0; i < EACH; i++)
                for (int pe = 0; pe < t.pes; pe++)
                    shmem_long_put_nbi(to + i, from + i, 1, pe);
            shmem_quiet();
        }
    }
    if (t.me == 0)
        for (int pe = 1; pe < t.pes; pe++)
            shmem_long_p(&ended, repetition, pe);
    else
        shmem_long_wait_until(&ended, SHMEM_CMP_GE, repetition);
}

static void all_to_all(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    long *const to = place(&t, t.me);
    const long *const from = (const long *)t.source;
    for (long r = 0; r < repetitions; r++) {
        for (int i = 0; i < EACH; i++)
            shmem_long_put_nbi(to + i, from + i, 1, target(&t, t.me, i));
        shmem_quiet();
    }
}

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

static const struct data one_data = {source_bytes, dest_bytes, fill, check_one};
static const struct data all_data = {source_bytes, dest_bytes, fill, check_all};

static const struct operation operations[] = {
    {"one_to_all", "call", RATE, LONG_SIZE, EVERYONE, EACH, &one_data, one_to_all, NULL},
    {"all_to_all", "call", RATE, LONG_SIZE, EVERYONE, EACH, &all_data, all_to_all, NULL},
};

PROGRAM("puts", "short non-blocking puts of one PE or of all PEs to all, per second",
        .windows = true, .least = sizeof(long))
