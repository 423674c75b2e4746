/* Parts in C of a Rust program. Whether the Rust side has initialised the library, allocated the
 * memory or made the barrier does not matter to any of them. */
#include <shmem.h>

void part_shift(int64_t *dest, const int64_t *source, size_t n) {
    shmem_int64_put(dest, source, n, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
}

int part_sum(int64_t *dest, const int64_t *source, size_t n) {
    return shmem_int64_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n);
}

void part_count(int64_t *counter, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) shmem_int64_atomic_inc(counter, pe);
}

void part_barrier(void) {
    shmem_barrier_all();
}

long *part_alloc(size_t n) {
    return shmem_calloc(n, sizeof(long));
}

void part_free(long *memory) {
    shmem_free(memory);
}

long part_get(const long *source, int pe) {
    return shmem_long_g(source, pe);
}

static long global = 5;

void part_add_to_global(long value, int pe) {
    shmem_long_atomic_add(&global, value, pe);
}

long part_global(void) {
    return shmem_long_atomic_fetch(&global, shmem_my_pe());
}

int part_by_itself(void) {
    shmem_init();
    int n = shmem_n_pes();
    shmem_finalize();
    return n;
}

void part_init(void) {
    shmem_init();
}

void part_finalize(void) {
    shmem_finalize();
}

int part_is_inlined(void) {
    return shmemi_native.my_pe != 0;
}
