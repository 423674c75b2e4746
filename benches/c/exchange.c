/* Two PEs exchange long blocks: put with signal there and back, and the exchange of ISx (each PE copies half of
 * its keys by memcpy, and puts the other half where a counter of the other PE says), compared with the best bare
 * copy instead of the put. */
#include "rounds.h"
#include "copies.h"

enum { LARGEST = 64 << 20 }; /* bytes */

static char *local, *heap, *there;
static long long *filled;   /* bytes of this PE's heap that are filled */
static uint64_t *sig;       /* counts messages */
static uint64_t *their_sig; /* the peer's, as an address of this PE */
static long long *their_filled;
static uint64_t messages;
static int me, peer;

static copy_function *best(void)
{
    char *const dests[] = {there};
    const char *const sources[] = {local};
    return best_of_series(dests, sources, 1).copy;
}

static void bare_signal(long count)
{
    copy_function *const copy = best();
    for (long i = 0; i < count; i++)
        for (int turn = 0; turn < 2; turn++) {
            messages++;
            if (turn == me) {
                copy(there, local, series->bytes);
                __atomic_store_n(their_sig, messages, __ATOMIC_RELEASE);
            } else {
                while (__atomic_load_n(sig, __ATOMIC_ACQUIRE) < messages)
                    ;
            }
        }
}

static void ours_signal(long count)
{
    for (long i = 0; i < count; i++)
        for (int turn = 0; turn < 2; turn++) {
            messages++;
            if (turn == me) {
                shmem_putmem_signal(heap, local, series->bytes, sig, messages, SHMEM_SIGNAL_SET,
                                    peer);
            } else {
                shmem_uint64_wait_until(sig, SHMEM_CMP_GE, messages);
            }
        }
}

/* Where a block of `half` bytes goes that begins `bytes` bytes after the first one: the counter need not be a multiple
 * of `half`, since series of other sizes have added to it. */
static size_t place(long long bytes, size_t half)
{
    const size_t block = (size_t)bytes / half;
    return block % (LARGEST / half) * half;
}

static void bare_exchange(long count)
{
    copy_function *const copy = best();
    for (long i = 0; i < count; i++) {
        const size_t half = series->bytes;
        const long long own = __atomic_fetch_add(filled, (long long)half, __ATOMIC_SEQ_CST);
        memcpy(heap + place(own, half), local, half);
        const long long at = __atomic_fetch_add(their_filled, (long long)half, __ATOMIC_SEQ_CST);
        copy(there + place(at, half), local + half, half);
        shmem_barrier_all();
    }
}

static void ours_exchange(long count)
{
    for (long i = 0; i < count; i++) {
        const size_t half = series->bytes;
        const long long own = shmem_longlong_atomic_fetch_add(filled, (long long)half, me);
        memcpy(heap + place(own, half), local, half);
        const long long at = shmem_longlong_atomic_fetch_add(filled, (long long)half, peer);
        shmem_putmem(heap + place(at, half), local + half, half, peer);
        shmem_barrier_all();
    }
}

#define SIGNAL(count, kib) \
    {"put_signal/" #kib "KiB", bare_signal, ours_signal, count, 1, (size_t)kib << 10}
#define EXCHANGE(kib) \
    {"isx/" #kib "KiB", bare_exchange, ours_exchange, 1, 1, (size_t)kib << 10}

static const struct series all[] = {
    SIGNAL(16, 64), SIGNAL(4, 256), SIGNAL(2, 1024), SIGNAL(1, 8192),
    EXCHANGE(1024), EXCHANGE(8192), EXCHANGE(32768),
};

int main(void)
{
    me = one_of_two();
    peer = 1 - me;
    heap = shmem_align(4096, LARGEST);
    local = aligned_alloc(4096, LARGEST);
    filled = shmem_align(128, 128);
    sig = shmem_align(128, 128);
    if (!heap || !local || !filled || !sig) {
        fprintf(stderr, "no memory for buffers of %d bytes\n", LARGEST);
        return 1;
    }
    there = shmem_ptr(heap, peer);
    their_sig = shmem_ptr(sig, peer);
    their_filled = shmem_ptr(filled, peer);
    memset(heap, 1, LARGEST);
    memset(local, 2, LARGEST);
    *filled = 0;
    *sig = 0;
    shmem_barrier_all();
    return serve(all, sizeof all / sizeof *all);
}
