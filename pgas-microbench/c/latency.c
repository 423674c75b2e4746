/* Latency of OpenSHMEM's one-sided operations between the PEs of pairs.
 *
 * A put, p or iput, or the store through shmem_ptr in its place, is complete at the other PE before
 * the next one begins: shmem_quiet follows it. A get, g or iget is complete when it returns. Each g
 * loads from the index that the previous g returned, so that a processor cannot overlap them. */
#include <shmem.h>
#include <stdint.h>
#include <string.h>

#include "keep.h"
#include "messages_shmem.h"
#include "pair_data.h"
#include "program.h"
#include "put_signal.h"
#include "reachable.h"

#define COUNT const size_t count = t.bytes / sizeof(long)

/* Repeats `operation`, which `finish` completes. */
#define REPEATED(name, prepare, operation, finish)                      \
    static void name(const struct transfer *transfer, long repetitions) \
    {                                                                   \
        const struct transfer t = *transfer;                            \
        prepare;                                                        \
        for (long r = 0; r < repetitions; r++) {                        \
            operation;                                                  \
            finish;                                                     \
            keep_memory();                                              \
        }                                                               \
    }

REPEATED(put, NOTHING, shmem_putmem(t.dest, t.source, t.bytes, t.peer), shmem_quiet())
REPEATED(put_ptr, TO_PEER, memcpy(to, t.source, t.bytes), shmem_quiet())
REPEATED(get, NOTHING, shmem_getmem(t.dest, t.source, t.bytes, t.peer), NOTHING)
REPEATED(get_ptr, FROM_PEER, memcpy(t.dest, from, t.bytes), NOTHING)

/* Within the memory of a PE: what every transfer on a node costs at least. */
REPEATED(copy, NOTHING, shmem_putmem(t.dest, t.source, t.bytes, t.me), shmem_quiet())
REPEATED(copy_ptr, NOTHING, memcpy(t.dest, t.source, t.bytes), NOTHING)

REPEATED(iput, COUNT, shmem_long_iput(DEST, SOURCE, STRIDE, 1, count, t.peer), shmem_quiet())
REPEATED(iput_ptr, COUNT; long *there = shmem_ptr(t.dest, t.peer),
         for (size_t i = 0; i < count; i++) there[STRIDE * i] = SOURCE[i], shmem_quiet())
REPEATED(iget, COUNT, shmem_long_iget(DEST, SOURCE, 1, STRIDE, count, t.peer), NOTHING)
REPEATED(iget_ptr, COUNT; const long *there = shmem_ptr(t.source, t.peer),
         for (size_t i = 0; i < count; i++) DEST[i] = there[STRIDE * i], NOTHING)

/* p and g, as calls and through shmem_ptr, of one type. */
#define SCALAR(type)                                                            \
    REPEATED(type##_p, const type value = *(const type *)t.source,              \
             shmem_##type##_p((type *)t.dest, value, t.peer), shmem_quiet())    \
    REPEATED(type##_p_ptr, const type value = *(const type *)t.source;          \
             type *there = shmem_ptr(t.dest, t.peer), *there = value,           \
             shmem_quiet())                                                     \
    static void type##_g(const struct transfer *transfer, long repetitions)     \
    {                                                                           \
        const struct transfer t = *transfer;                                    \
        const type *ring = (const type *)t.source;                              \
        type at = 0;                                                            \
        for (long r = 0; r < repetitions; r++)                                  \
            at = shmem_##type##_g(&ring[(size_t)at], t.peer);                   \
        ring_place = at;                                                        \
    }                                                                           \
    static void type##_g_ptr(const struct transfer *transfer, long repetitions) \
    {                                                                           \
        const struct transfer t = *transfer;                                    \
        const type *ring = shmem_ptr(t.source, t.peer);                         \
        type at = 0;                                                            \
        for (long r = 0; r < repetitions; r++)                                  \
            at = ring[(size_t)at];                                              \
        ring_place = at;                                                        \
    }

SCALAR(char)
SCALAR(short)
SCALAR(int)
SCALAR(long)

/* The function of the type that has the size. */
#define BY_SIZE(name, suffix)                                             \
    static void name(const struct transfer *transfer, long repetitions)   \
    {                                                                     \
        switch (transfer->bytes) {                                        \
        case sizeof(char): char_##suffix(transfer, repetitions); break;   \
        case sizeof(short): short_##suffix(transfer, repetitions); break; \
        case sizeof(int): int_##suffix(transfer, repetitions); break;     \
        default: long_##suffix(transfer, repetitions);                    \
        }                                                                 \
    }

BY_SIZE(p, p)
BY_SIZE(p_ptr, p_ptr)
BY_SIZE(g, g)
BY_SIZE(g_ptr, g_ptr)

/* Both PEs put to each other, and wait for what the other one has put: an application that does nothing but
 * communicate. */
static uint64_t exchanged; /* set by the peer */
static uint64_t exchanges;

static void exchange(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    for (long r = 0; r < repetitions; r++) {
        exchanges++;
        PUT_SIGNAL(exchange_place(&t, r), t.source, t.bytes, &exchanged, exchanges, t.peer);
        shmem_uint64_wait_until(&exchanged, SHMEM_CMP_GE, exchanges);
    }
}

#define FORMS(name, sizes, data)                                        \
    {#name, "call", OWN_LATENCY, sizes, ORIGINS, 1, &data, name, NULL}, \
    {#name, "ptr", OWN_LATENCY, sizes, ORIGINS, 1, &data, name##_ptr, reachable}

#if HAS_MESSAGES
/* A repetition is one message: the first goes from origin to peer, the next one back. */
static void sendrecv(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    for (long r = 0; r < repetitions; r++) {
        if ((r % 2 == 0) == t.origin)
            shmemx_msg_send(SHMEM_TEAM_WORLD, t.source, t.bytes, t.peer, 0);
        else
            shmemx_msg_recv(SHMEM_TEAM_WORLD, t.dest, t.bytes, t.peer, 0, NULL);
    }
}

/* Both PEs send to each other. */
static void exchange_messages(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    for (long r = 0; r < repetitions; r++) {
        shmemx_msg_request_t requests[2];
        char *to = exchange_place(&t, r);
        shmemx_msg_irecv(SHMEM_TEAM_WORLD, to, t.bytes, t.peer, 0, &requests[0]);
        shmemx_msg_isend(SHMEM_TEAM_WORLD, t.source, t.bytes, t.peer, 0, &requests[1]);
        shmemx_msg_waitall(2, requests, NULL);
    }
}

/* As sendrecv, behind receives that do not match. */
static void sendrecv_deep(const struct transfer *transfer, long repetitions)
{
    static shmemx_msg_request_t requests[DEPTH];
    static char never;
    static bool are_begun;
    if (repetitions > 0 && !are_begun)
        for (int i = 0; i < DEPTH; i++)
            shmemx_msg_irecv(SHMEM_TEAM_WORLD, &never, 1, transfer->peer, i + 1, &requests[i]);
    sendrecv(transfer, repetitions);
    if (repetitions == 0 && are_begun)
        for (int i = 0; i < DEPTH; i++)
            shmemx_msg_cancel(&requests[i]);
    are_begun = repetitions > 0;
}
#endif

static const struct operation operations[] = {
    FORMS(put, BYTE_SIZES, put_data),
    FORMS(get, BYTE_SIZES, get_data),
    FORMS(copy, BYTE_SIZES, copy_data),
    FORMS(p, SCALAR_SIZES, put_data),
    FORMS(g, SCALAR_SIZES, ring_data),
    FORMS(iput, WORD_SIZES, iput_data),
    FORMS(iget, WORD_SIZES, iget_data),
    {"exchange", "call", OWN_LATENCY, BYTE_SIZES, BOTH, 1, &exchange_data, exchange, NULL},
    WITH_MESSAGES(
        {"exchange", "sendrecv", OWN_LATENCY, BYTE_SIZES, BOTH, 1, &exchange_data, exchange_messages, NULL},
        {"sendrecv", "sendrecv", OWN_LATENCY, BYTE_SIZES, BOTH, 1, &put_data, sendrecv, NULL},
        {"sendrecv_deep", "sendrecv", OWN_LATENCY, LONG_SIZE, BOTH, 1, &put_data, sendrecv_deep, NULL},
    )
};

PAIR_PROGRAM("latency",
             "time of one operation between the PEs of a pair, stores with shmem_quiet")
