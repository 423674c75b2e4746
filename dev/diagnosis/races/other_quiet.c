/* A quiet of another context than that of the puts, with contexts of the program and the default one.
 * check: race
 * expect: PE 0's shmem_ctx_long_put_nbi at @put (run) and PE 1's shmem_long_get at @get (run) race
 * expect: the variable "data" on PE 1
 * expect: PE 0's shmem_ctx_long_p at @other (run) and PE 1's shmem_long_g at @g (run) race
 * expect: the variable "other" on PE 1 */
#include "../seeded.h"

static long data[4], other, third;

void run(void)
{
    static long some[4];
    long copy[4];
    shmem_ctx_t a, b;
    if (shmem_ctx_create(0, &a) || shmem_ctx_create(0, &b))
        shmem_global_exit(1);
    if (me == 0) shmem_ctx_long_put_nbi(a, data, some, 4, 1); /* @put */
    shmem_ctx_quiet(fault ? b : a);
    if (me == 0) shmem_ctx_long_p(b, &other, 1, 1); /* @other */
    if (!fault) shmem_ctx_quiet(b);
    /* By its own name, too, the default context is the one that a barrier completes. */
    if (me == 0) shmem_ctx_long_p(SHMEM_CTX_DEFAULT, &third, 1, 1);
    shmem_barrier_all();
    if (me == 1) copy[1] = shmem_long_g(&third, 1);
    if (me == 1) shmem_long_get(copy, data, 4, 1); /* @get */
    if (me == 1) copy[0] = shmem_long_g(&other, 1); /* @g */
    shmem_ctx_destroy(a);
    shmem_ctx_destroy(b);
    shmem_barrier_all();
}
