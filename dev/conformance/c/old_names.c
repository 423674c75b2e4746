/* A program of the old school: start_pes without finalize, names without the prefix, deprecated
 * AMOs and waits, mpp/shmem.h. The job must end well although no PE finalises. */
#include <mpp/shmem.h>
#include <shmemx.h>

#include "check.h"

static long sync_words[_SHMEM_BCAST_SYNC_SIZE];
static int value;
static long flag;
static int target[4], source[4];
static double real;

int main(void)
{
    start_pes(0);
    start_pes(17); /* no further effect */
    int me = _my_pe(), n = _num_pes(), to = (me + 1) % n;
    CHECK(me == shmem_my_pe() && n == shmem_n_pes());
    for (int i = 0; i < _SHMEM_BCAST_SYNC_SIZE; i++)
        sync_words[i] = _SHMEM_SYNC_VALUE;

    int *heap = shmalloc(100 * sizeof *heap);
    REQUIRE(heap != NULL);
    heap = shrealloc(heap, 200 * sizeof *heap);
    REQUIRE(heap != NULL);
    long *aligned = shmemalign(256, 256);
    REQUIRE(aligned != NULL && ((uintptr_t)aligned & 255) == 0);
    for (int i = 0; i < 200; i++)
        heap[i] = -1;
    value = 10;
    shmem_barrier_all();

    CHECK(shmem_int_fadd(&value, 5, to) == 10);
    CHECK(shmem_int_finc(&value, to) == 15);
    shmem_int_add(&value, 4, to);
    shmem_int_inc(&value, to);
    CHECK(shmem_int_cswap(&value, 21, 30, to) == 21);
    CHECK(shmem_int_swap(&value, 31, to) == 30);
    CHECK(shmem_int_fetch(&value, to) == 31);
    shmem_int_set(&value, 32, to);
    CHECK(shmem_double_swap(&real, 2.5, to) == 0.0);
    shmem_int_p(&heap[199], me, to);
    shmem_barrier_all();
    CHECK(value == 32 && real == 2.5);
    CHECK(heap[199] == (me + n - 1) % n && heap[198] == -1);

    shmem_long_p(&flag, 1, to);
    shmem_wait(&flag, 0);
    CHECK(flag == 1);
    shmem_barrier_all();
    shmem_long_p(&flag, 2, to);
    shmem_long_wait(&flag, 1);
    shmem_wait_until(&flag, _SHMEM_CMP_EQ, 2);
    static short brief;
    shmem_short_p(&brief, 3, to);
    shmem_short_wait_until(&brief, SHMEM_CMP_EQ, 3);

    for (int i = 0; i < 4; i++) {
        source[i] = me * 10 + i;
        target[i] = -1;
    }
    shmem_barrier_all();
    shmem_broadcast32(target, source, 4, 0, 0, 0, n, sync_words);
    CHECK(me == 0 ? target[3] == -1 : target[3] == 3, "%d", target[3]);
    shmem_barrier_all();
    shfree(aligned);
    shfree(heap);
    CHECK(shmem_pe_accessible(to));
    return check_status();
}
