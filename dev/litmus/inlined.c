/* What the inlined operations are, for the tests of this folder: thread N of NAME.litmus is the function NAME_PN.
 * Compiled with SHMEM_NATIVE_ONLY, so that no call of the library is beside an operation. */
#include <shmem.h>

void put_fence_flag_P0(long *data, long *flag, int pe) {
    const long from = 1;
    shmem_long_put(data, &from, 1, pe);
    shmem_fence();
    shmem_long_p(flag, 1, pe);
}

void putmem_fence_flag_P0(long *data, const long *from, long *flag, int pe) {
    shmem_putmem(data, from, 2 * sizeof *from, pe);
    shmem_fence();
    shmem_long_p(flag, 1, pe);
}

void put_quiet_flag_P0(long *data, long *flag, int pe) {
    const long from = 1;
    shmem_long_put_nbi(data, &from, 1, pe);
    shmem_quiet();
    shmem_long_p(flag, 1, pe);
}

void put_set_P0(long *data, long *flag, int pe) {
    const long from = 1;
    shmem_long_put(data, &from, 1, pe);
    shmem_long_atomic_set(flag, 1, pe);
}
long put_set_P1(const long *data, const long *flag, int pe) {
    const long seen = shmem_long_atomic_fetch(flag, pe);
    return seen + shmem_long_g(data, pe);
}

long g_then_g_P1(const long *data, const long *flag, int pe) {
    const long seen = shmem_long_g(flag, pe);
    return seen + shmem_long_g(data, pe);
}

void get_then_p_P1(const long *data, long *ack, long *to, int pe) {
    shmem_long_get(to, data, 1, pe);
    shmem_long_p(ack, 1, pe);
}

long fetch_add_then_p_P0(long *counter, long *flag, int pe) {
    const long old = shmem_long_atomic_fetch_add(counter, 1, pe);
    shmem_long_p(flag, 1, pe);
    return old;
}
long fetch_add_then_p_P1(const long *counter, const long *flag, int pe) {
    const long seen = shmem_long_atomic_fetch(flag, pe);
    return seen + shmem_long_atomic_fetch(counter, pe);
}

void unlock_then_p_P0(long *data, long *lock, long *flag, int pe) {
    *data = 1;
    shmem_clear_lock(lock);
    shmem_long_p(flag, 1, pe);
}

long quiet_store_load_P0(long *mine, const long *other, int pe) {
    shmem_long_p(mine, 1, pe);
    shmem_quiet();
    return shmem_long_g(other, pe);
}
