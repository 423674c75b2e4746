/* Many short non-blocking puts, and one quiet: from one PE to all, and from all to all, in turn. */
#include <shmem.h>

#include "program.h"
#include "puts_data.h"

/* The repetition that has ended, on the PEs that wait for it. */
static long ended;
static long repetition;

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

static const struct operation operations[] = {
    {"one_to_all", "call", RATE, LONG_SIZE, EVERYONE, EACH, &one_to_all_data, one_to_all, NULL},
    {"all_to_all", "call", RATE, LONG_SIZE, EVERYONE, EACH, &all_to_all_data, all_to_all, NULL},
};

PROGRAM("puts", "short non-blocking puts of one PE or of all PEs to all, per second",
        .windows = true, .least = sizeof(long))
