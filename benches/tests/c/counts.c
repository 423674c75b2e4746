/* An operation in each function, and what the processor has for it. */
#include <shmem.h>

void store(long *dest, long value) { *dest = value; }
void p(long *dest, long value, int pe) { shmem_long_p(dest, value, pe); }
void put(void *dest, const void *source, int pe) { shmem_putmem(dest, source, 8, pe); }
long load(const long *source) { return *source; }
long g(const long *source, int pe) { return shmem_long_g(source, pe); }
long add(long *dest, long value) { return __atomic_fetch_add(dest, value, __ATOMIC_SEQ_CST); }
long fetch_add(long *dest, long value, int pe) { return shmem_long_atomic_fetch_add(dest, value, pe); }
void barrier(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
void fence(void) { shmem_fence(); }
