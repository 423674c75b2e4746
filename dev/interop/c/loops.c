/* Loops of operations on a PE of this node, inlined by shmem.h: what a Rust program may be held
 * against. Each does `n` of them, the i-th on element i. */
#include <shmem.h>

void loop_p(long *dest, const long *source, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) shmem_long_p(&dest[i], source[i], pe);
}

void loop_g(long *dest, const long *source, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) dest[i] = shmem_long_g(&source[i], pe);
}

void loop_put(long *dest, const long *source, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) shmem_long_put(&dest[i], &source[i], 1, pe);
}

void loop_get(long *dest, const long *source, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) shmem_long_get(&dest[i], &source[i], 1, pe);
}

void loop_put_many(long *dest, const long *source, size_t n, size_t nelems, int pe) {
    for (size_t i = 0; i < n; i++) shmem_long_put(dest, source, nelems, pe);
}

void loop_get_many(long *dest, const long *source, size_t n, size_t nelems, int pe) {
    for (size_t i = 0; i < n; i++) shmem_long_get(dest, source, nelems, pe);
}

void loop_fetch_add(long *dest, long *old, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) old[i] = shmem_long_atomic_fetch_add(&dest[i], 3, pe);
}

void loop_swap(long *dest, long *old, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) old[i] = shmem_long_atomic_swap(&dest[i], old[i], pe);
}

void loop_fetch(long *dest, const long *source, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) dest[i] = shmem_long_atomic_fetch(&source[i], pe);
}

void loop_set(long *dest, const long *source, size_t n, int pe) {
    for (size_t i = 0; i < n; i++) shmem_long_atomic_set(&dest[i], source[i], pe);
}
