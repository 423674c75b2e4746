/* Messages of two PEs, there and back: short ones compared with a put of a word that the other PE waits for, long ones
 * with the best bare copy from the sender's symmetric memory, once the receiver waits for it. */
#include <shmemx.h>

#include "rounds.h"
#include "copies.h"

enum { LARGEST = 8 << 20 }; /* bytes */

static long *word;          /* counts puts */
static char *symmetric;     /* what is sent */
static char *own, *theirs;  /* where it goes; what the peer sends */
static uint64_t *sig, *their_sig;
static long round_trips;
static uint64_t copies;
static int me, peer;

static void put_and_wait(long count)
{
    for (long i = 0; i < count; i++) {
        round_trips++;
        if (me == 0) {
            shmem_long_p(word, round_trips, peer);
            shmem_long_wait_until(word, SHMEM_CMP_EQ, round_trips);
        } else {
            shmem_long_wait_until(word, SHMEM_CMP_EQ, round_trips);
            shmem_long_p(word, round_trips, peer);
        }
    }
}

static void send(size_t bytes)
{
    shmemx_msg_send(SHMEM_TEAM_WORLD, symmetric, bytes, peer, 1);
}

static void receive(size_t bytes)
{
    shmemx_msg_recv(SHMEM_TEAM_WORLD, own, bytes, peer, 1, NULL);
}

static void messages(long count)
{
    for (long i = 0; i < count; i++) {
        if (me == 0) {
            send(series->bytes);
            receive(series->bytes);
        } else {
            receive(series->bytes);
            send(series->bytes);
        }
    }
}

static copy_function *best(void)
{
    char *const dests[] = {own};
    const char *const sources[] = {theirs};
    return best_of_series(dests, sources, 1).copy;
}

/* The PE whose turn it is copies, the other one waits for the end of that. */
static void bare_copies(long count)
{
    copy_function *const copy = best();
    for (long i = 0; i < count; i++)
        for (int turn = 0; turn < 2; turn++) {
            copies++;
            if (turn == me) {
                copy(own, theirs, series->bytes);
                __atomic_store_n(their_sig, copies, __ATOMIC_RELEASE);
            } else {
                while (__atomic_load_n(sig, __ATOMIC_ACQUIRE) < copies)
                    ;
            }
        }
}

#define SHORT(bytes) {"short/" #bytes "B", put_and_wait, messages, 1000, 1, bytes}
#define LONG(count, kib) \
    {"long/" #kib "KiB", bare_copies, messages, count, 1, (size_t)kib << 10}

static const struct series all[] = {
    SHORT(0), SHORT(8), SHORT(32), SHORT(256), SHORT(4096),
    LONG(16, 16), LONG(16, 64), LONG(4, 256), LONG(2, 1024), LONG(1, 8192),
};

int main(void)
{
    me = one_of_two();
    peer = 1 - me;
    symmetric = shmem_align(4096, LARGEST);
    own = aligned_alloc(4096, LARGEST);
    word = shmem_align(128, 128);
    sig = shmem_align(128, 128);
    if (!symmetric || !own || !word || !sig) {
        fprintf(stderr, "no memory for buffers of %d bytes\n", LARGEST);
        return 1;
    }
    theirs = shmem_ptr(symmetric, peer);
    their_sig = shmem_ptr(sig, peer);
    memset(symmetric, 1, LARGEST);
    memset(own, 2, LARGEST);
    *word = 0;
    *sig = 0;
    shmem_barrier_all();
    return serve(all, sizeof all / sizeof *all);
}
