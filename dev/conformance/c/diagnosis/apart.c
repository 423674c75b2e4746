/* PEs of several hosts wait for one that computes for ever, or is stopped. */
#include <shmem.h>
#include <signal.h>

static volatile int zero;
static int count;

static void compute(void)
{
    while (!zero) /* @loop */
        ;
}

int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    shmem_barrier_all();
    if (argc > 1 && me == 1)
        raise(SIGSTOP);
    if (argc > 1 && me == last)
        shmem_int_atomic_fetch(&count, 1); /* @fetch */
    if (argc == 1 && me == last)
        compute();
    shmem_barrier_all(); /* @barrier */
    shmem_finalize();
    return 0;
}
