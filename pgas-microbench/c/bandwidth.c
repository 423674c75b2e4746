/* Bandwidth and message rate of OpenSHMEM's one-sided operations, all pairs at once.
 *
 * A repetition is a window of operations on the same memory, or one pass over an array by p or
 * g. One shmem_quiet ends it unless all operations are blocking loads. For the rate, each
 * message goes to another element of an array. */
#include <shmem.h>
#include <string.h>

#include "keep.h"
#include "messages_shmem.h"
#include "pair_data.h"
#include "program.h"
#include "reachable.h"

static void spread(long *restrict dest, const long *restrict source, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dest[STRIDE * i] = source[i];
}

static void gather(long *restrict dest, const long *restrict source, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dest[i] = source[STRIDE * i];
}

#define LONGS (t.bytes / sizeof(long))

/* Windows of `operation`, which may use its index `w`. */
#define WINDOWS(name, prepare, operation, finish)                       \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        prepare;                                                        \
        for (long r = 0; r < repetitions; r++) {                        \
            for (int w = 0; w < t.window; w++) {                        \
                operation;                                              \
                keep_memory();                                          \
            }                                                           \
            finish;                                                     \
        }                                                               \
    }

WINDOWS(put, NOTHING, shmem_putmem(t.dest, t.source, t.bytes, t.peer), shmem_quiet())
WINDOWS(put_nbi, NOTHING, shmem_putmem_nbi(t.dest, t.source, t.bytes, t.peer), shmem_quiet())
WINDOWS(put_ptr, TO_PEER, memcpy(to, t.source, t.bytes), shmem_quiet())
WINDOWS(get, NOTHING, shmem_getmem(t.dest, t.source, t.bytes, t.peer), NOTHING)
WINDOWS(get_nbi, NOTHING, shmem_getmem_nbi(t.dest, t.source, t.bytes, t.peer), shmem_quiet())
WINDOWS(get_ptr, FROM_PEER, memcpy(t.dest, from, t.bytes), NOTHING)
WINDOWS(iput, NOTHING, shmem_long_iput(DEST, SOURCE, STRIDE, 1, LONGS, t.peer), shmem_quiet())
WINDOWS(iput_ptr, TO_PEER, spread(to, SOURCE, LONGS), shmem_quiet())
WINDOWS(iget, NOTHING, shmem_long_iget(DEST, SOURCE, 1, STRIDE, LONGS, t.peer), NOTHING)
WINDOWS(iget_ptr, FROM_PEER, gather(DEST, from, LONGS), NOTHING)
WINDOWS(put_rate, NOTHING, shmem_long_put(DEST + w, SOURCE + w, 1, t.peer), shmem_quiet())
WINDOWS(put_rate_ptr, TO_PEER, memcpy((long *)to + w, SOURCE + w, sizeof(long)), shmem_quiet())
WINDOWS(p_rate, NOTHING, shmem_long_p(DEST + w, SOURCE[w], t.peer), shmem_quiet())
WINDOWS(p_rate_ptr, TO_PEER, ((long *)to)[w] = SOURCE[w], shmem_quiet())

/* Passes over arrays of double, in ordinary loops, which compilers may optimise. */
#define PASSES(name, prepare, element, finish)                          \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        const size_t count = t.bytes / sizeof(double);                  \
        const double *source = (const double *)t.source;                \
        double *dest = (double *)t.dest;                                \
        prepare;                                                        \
        for (long r = 0; r < repetitions; r++) {                        \
            for (size_t i = 0; i < count; i++)                          \
                element;                                                \
            finish;                                                     \
            keep_memory();                                              \
        }                                                               \
    }

PASSES(p, NOTHING, shmem_double_p(&dest[i], source[i], t.peer), shmem_quiet())
PASSES(p_ptr, dest = shmem_ptr(dest, t.peer), dest[i] = source[i], shmem_quiet())
PASSES(g, NOTHING, dest[i] = shmem_double_g(&source[i], t.peer), NOTHING)
PASSES(g_ptr, source = shmem_ptr(source, t.peer), dest[i] = source[i], NOTHING)

#if HAS_MESSAGES
/* Windows of messages to the peer, which answers each window with an empty message. */
static void sendrecv(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    shmemx_msg_request_t requests[WINDOW];
    int ticket = 1;
    for (long r = 0; r < repetitions; r++) {
        for (int w = 0; w < t.window; w++) {
            if (t.origin)
                shmemx_msg_isend(SHMEM_TEAM_WORLD, t.source, t.bytes, t.peer, 0, &requests[w]);
            else
                shmemx_msg_irecv(SHMEM_TEAM_WORLD, t.dest, t.bytes, t.peer, 0, &requests[w]);
        }
        shmemx_msg_waitall((size_t)t.window, requests, NULL);
        if (t.origin)
            shmemx_msg_recv(SHMEM_TEAM_WORLD, NULL, 0, t.peer, ticket, NULL);
        else
            shmemx_msg_send(SHMEM_TEAM_WORLD, NULL, 0, t.peer, ticket);
    }
}
#endif

#define CALL(name, sizes, window, data) \
    {#name, "call", BANDWIDTH, sizes, ORIGINS, window, &data, name, NULL}
#define PTR(name, sizes, window, data) \
    {#name, "ptr", BANDWIDTH, sizes, ORIGINS, window, &data, name##_ptr, reachable}
#define RATES(name)                                                                     \
    {#name, "call", RATE, LONG_SIZE, ORIGINS, WINDOW, &window_data, name##_rate, NULL}, \
    {#name, "ptr", RATE, LONG_SIZE, ORIGINS, WINDOW, &window_data, name##_rate_ptr, reachable}

static const struct operation operations[] = {
    CALL(put, BYTE_SIZES, WINDOW, put_data),
    PTR(put, BYTE_SIZES, WINDOW, put_data),
    CALL(put_nbi, BYTE_SIZES, WINDOW, put_data),
    CALL(get, BYTE_SIZES, WINDOW, get_data),
    PTR(get, BYTE_SIZES, WINDOW, get_data),
    CALL(get_nbi, BYTE_SIZES, WINDOW, get_data),
    CALL(iput, WORD_SIZES, WINDOW, iput_data),
    PTR(iput, WORD_SIZES, WINDOW, iput_data),
    CALL(iget, WORD_SIZES, WINDOW, iget_data),
    PTR(iget, WORD_SIZES, WINDOW, iget_data),
    CALL(p, WORD_SIZES, 1, put_data),
    PTR(p, WORD_SIZES, 1, put_data),
    CALL(g, WORD_SIZES, 1, get_data),
    PTR(g, WORD_SIZES, 1, get_data),
    RATES(put),
    RATES(p),
    WITH_MESSAGES(
        {"sendrecv", "sendrecv", BANDWIDTH, BYTE_SIZES, BOTH, WINDOW, &put_data, sendrecv, NULL},
        {"sendrecv", "sendrecv", RATE, LONG_SIZE, BOTH, WINDOW, &put_data, sendrecv, NULL},
    )
};

PAIR_PROGRAM("bandwidth",
             "bytes and messages per second of all pairs, from the first start to the last end")
