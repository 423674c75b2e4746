/* Operations of all kinds between the PEs of two groups, which may run two programs. Members are numbered over both
 * groups; the other group's begin with `first`. */
#include "port.h"

enum { PES = 64, LONG = 1 << 15 };

static long cells[PES], counter, swapped, word, big[LONG];
static int stepped[2 * PES], blocks[4 * PES];
static double halves[PES];
static uint64_t signals[2];
static unsigned host;

/* Where the other group has its copies: its own addresses if both run one program. */
static struct {
    long *cells, *counter, *swapped, *word, *big;
    int *stepped, *blocks;
    double *halves;
    uint64_t *signals;
    unsigned *host;
} there;

/* Each PE of the other group gets what this one puts, at the place of this one's number among all members. */
static void put_and_get(shmemx_group_t group, int me, int first, int n, long *heap)
{
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        long value = 1000 + me;
        int two[2] = {me, -me};
        double half = me / 2.0;
        shmem_long_p(&there.cells[me], value, pe);
        shmem_double_put(&there.halves[me], &half, 1, pe);
        shmem_int_iput(&there.stepped[me], two, PES, 1, 2, pe);
        shmem_int_put_nbi(&there.blocks[2 * me], two, 2, pe);
        shmem_putmem_nbi(&heap[me], &value, sizeof value, pe);
        shmem_fence();
        CHECK(shmem_pe_accessible(pe) == 1, "PE %d", pe);
        CHECK(shmem_addr_accessible(there.counter, pe) == 1);
        CHECK(shmem_addr_accessible(heap, pe) == 1 && shmem_addr_accessible(two, pe) == 0);
        /* The other group's PEs on this host are reached by loads and stores, and no others. */
        unsigned other, *at = shmem_ptr(there.host, pe);
        shmem_uint_get(&other, there.host, 1, pe);
        CHECK((at != NULL) == (other == host) && (at == NULL || *at == host), "PE %d", pe);
    }
    shmem_quiet();
    shmemx_group_sync(group);
    for (int i = first; i < first + n; i++) {
        CHECK(cells[i] == 1000 + i && heap[i] == 1000 + i, "%ld, %ld", cells[i], heap[i]);
        CHECK(halves[i] == i / 2.0, "%g", halves[i]);
        CHECK(stepped[i] == i && stepped[PES + i] == -i, "%d, %d", stepped[i], stepped[PES + i]);
        CHECK(blocks[2 * i] == i && blocks[2 * i + 1] == -i, "%d", blocks[2 * i]);
    }
    word = 10 * me;
    heap[PES] = 20 * me;
    for (int i = 0; i < LONG; i++)
        big[i] = i + me;
    shmemx_group_sync(group);
    static long copy[LONG];
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        long seen = shmem_long_g(there.word, pe), got[2];
        CHECK(seen == 10L * (first + i), "%ld", seen);
        shmem_getmem(&got[0], &heap[PES], sizeof(long), pe);
        shmem_long_iget(&got[1], there.word, 1, 1, 1, pe);
        CHECK(got[0] == 2 * seen && got[1] == seen, "%ld %ld", got[0], got[1]);
        shmem_long_get_nbi(copy, there.big, LONG, pe);
        shmem_quiet();
        CHECK(copy[0] == first + i && copy[LONG - 1] == first + i + LONG - 1, "%ld", copy[0]);
    }
    shmemx_group_sync(group);
}

/* Each PE updates words of all PEs of the other group. */
static void update(shmemx_group_t group, int me, int first, int n)
{
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        for (int k = 0; k < 500; k++)
            shmem_long_atomic_inc(there.counter, pe);
        shmem_long_atomic_fetch_add(there.counter, 5, pe);
        long fetched = -1;
        shmem_long_atomic_fetch_add_nbi(&fetched, there.counter, 7, pe);
        shmem_quiet();
        CHECK(fetched >= 0, "%ld", fetched);
        for (long seen = 0; (seen = shmem_long_atomic_fetch(there.swapped, pe)),
                  shmem_long_atomic_compare_swap(there.swapped, seen, seen + 1, pe) != seen;)
            ;
        shmem_long_put_signal(&there.big[me], &fetched, 1, &there.signals[0], 1, SHMEM_SIGNAL_ADD, pe);
    }
    /* PEs of this node count there as well. */
    shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, n);
    shmemx_group_barrier(group);
    CHECK(counter == 512L * n && swapped == n, "%ld, %ld", counter, swapped);
    shmemx_group_sync(group);
    for (int k = 0; k < 300; k++)
        shmem_long_atomic_inc(&counter, (shmem_my_pe() + 1) % shmem_n_pes());
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 300; k++)
            shmem_long_atomic_add(there.counter, 2, shmemx_group_pe(group, i));
    shmemx_group_barrier(group);
    CHECK(counter == 512L * n + 300 + 600L * n, "%ld", counter);
    /* A wait for a plain store of the other group, which comes late. */
    if (me == 0) {
        usleep(20000);
        for (int i = 0; i < n; i++)
            shmem_long_p(there.word, 77, shmemx_group_pe(group, i));
        shmem_quiet();
    }
    if (first == 0)
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 77);
    shmemx_group_sync(group);
}
