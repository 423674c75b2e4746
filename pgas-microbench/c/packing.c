/* Packing of a part of a matrix: blocks of the source, as far apart as they are long, go to one place of the partner,
 * and come back from it. As much is moved at all lengths of a block, from many short rows to one long one. */
#include <shmem.h>
#include <string.h>

#include "keep.h"
#include "packing_data.h"
#include "program.h"

#define HAS_BLOCKS (SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 6)

static void pack(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    const size_t blocks = AREA / t.bytes;
    const int peer = partner(&t);
    for (long r = 0; r < repetitions; r++) {
#if HAS_BLOCKS
        const ptrdiff_t words = (ptrdiff_t)(t.bytes / sizeof(uint64_t));
        shmem_ibput64(t.dest, t.source, words, 2 * words, (size_t)words, blocks, peer);
#else
        if (t.bytes == sizeof(uint64_t))
            shmem_iput64(t.dest, t.source, 1, 2, blocks, peer);
        else
            for (size_t i = 0; i < blocks; i++)
                shmem_putmem_nbi(t.dest + i * t.bytes, t.source + 2 * i * t.bytes, t.bytes, peer);
#endif
        shmem_quiet();
        keep_memory();
    }
}

static void unpack(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    const size_t blocks = AREA / t.bytes;
    const int peer = partner(&t);
    for (long r = 0; r < repetitions; r++) {
#if HAS_BLOCKS
        const ptrdiff_t words = (ptrdiff_t)(t.bytes / sizeof(uint64_t));
        shmem_ibget64(t.dest, t.source, words, 2 * words, (size_t)words, blocks, peer);
#else
        if (t.bytes == sizeof(uint64_t))
            shmem_iget64(t.dest, t.source, 1, 2, blocks, peer);
        else
            for (size_t i = 0; i < blocks; i++)
                shmem_getmem_nbi(t.dest + i * t.bytes, t.source + 2 * i * t.bytes, t.bytes, peer);
        shmem_quiet();
#endif
        keep_memory();
    }
}

static void copy_blocks(char *restrict to, const char *restrict from, size_t bytes)
{
    const size_t blocks = AREA / bytes;
    if (bytes == sizeof(uint64_t))
        for (size_t i = 0; i < blocks; i++)
            memcpy(to + i * sizeof(uint64_t), from + 2 * i * sizeof(uint64_t), sizeof(uint64_t));
    else
        for (size_t i = 0; i < blocks; i++)
            memcpy(to + i * bytes, from + 2 * i * bytes, bytes);
    keep_memory();
}

static void pack_ptr(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    char *to = shmem_ptr(t.dest, partner(&t));
    for (long r = 0; r < repetitions; r++) {
        copy_blocks(to, t.source, t.bytes);
        shmem_quiet();
    }
}

static void unpack_ptr(const struct transfer *transfer, long repetitions)
{
    const struct transfer t = *transfer;
    const char *from = shmem_ptr(t.source, partner(&t));
    for (long r = 0; r < repetitions; r++)
        copy_blocks(t.dest, from, t.bytes);
}

static bool reaches_partner(const struct transfer *t)
{
    const int peer = partner(t);
    return shmem_ptr(t->source, peer) != NULL && shmem_ptr(t->dest, peer) != NULL;
}

static const struct operation operations[] = {
    {"pack", "call", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &packing_data, pack, NULL},
    {"pack", "ptr", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &packing_data, pack_ptr, reaches_partner},
    {"unpack", "call", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &packing_data, unpack, NULL},
    {"unpack", "ptr", OWN_LATENCY, WORD_SIZES, EVERYONE, 1, &packing_data, unpack_ptr, reaches_partner},
};

PROGRAM("packing", "time to move 8 MiB in blocks of some bytes, as far apart, to one place",
        .windows = true, .least = sizeof(uint64_t))
