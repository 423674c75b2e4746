/* The source of a put is a variable of a function that has returned.
 * check: memory
 * expect: the source of shmem_putmem_nbi at @put (send) to PE
 * expect: was changed before shmem_barrier_all at @barrier (run) completed it */
#include "../seeded.h"

static char target[64];

static __attribute__((noinline)) void send(void)
{
    char source[64];
    memset(source, 'a', sizeof source);
    shmem_putmem_nbi(target, source, sizeof source, next); /* @put */
    if (!fault) shmem_quiet();
}

static __attribute__((noinline)) void use_stack(void)
{
    volatile char other[256];
    for (unsigned i = 0; i < sizeof other; i++) other[i] = 'b';
}

void run(void)
{
    send();
    use_stack();
    shmem_barrier_all(); /* @barrier */
}
