/* PEs of several hosts wait for one that computes for ever, or is stopped. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int zero;
static int count, process, stopped;

static void compute(void)
{
    while (!zero) /* @loop */
        ;
}

/* Returns when the kernel says that PE 1 is stopped: before, its progress thread may answer. */
static void wait_for_stop(void)
{
    char path[32], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    while (state != 'T') {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            abort();
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    if (me == 1)
        shmem_int_p(&process, getpid(), 0);
    shmem_barrier_all();
    if (argc > 1 && me == 1)
        raise(SIGSTOP);
    /* Of PE 1's host. */
    if (argc > 1 && me == 0) {
        wait_for_stop();
        shmem_int_p(&stopped, 1, last);
    }
    if (argc > 1 && me == last) {
        shmem_int_wait_until(&stopped, SHMEM_CMP_EQ, 1);
        shmem_int_atomic_fetch(&count, 1); /* @fetch */
    }
    if (argc == 1 && me == last)
        compute();
    shmem_barrier_all(); /* @barrier */
    shmem_finalize();
    return 0;
}
