/* PEs of several hosts wait for one that computes for ever. */
#include <shmem.h>

static volatile int zero;

static void compute(void)
{
    while (!zero) /* @loop */
        ;
}

int main(void)
{
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() == shmem_n_pes() - 1)
        compute();
    shmem_barrier_all(); /* @barrier */
    shmem_finalize();
    return 0;
}
