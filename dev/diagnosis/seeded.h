/* For programs with one planted fault: with an argument, or compiled with -DFAULT, they have it. */
#ifndef SEEDED_H
#define SEEDED_H

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

/* Whether the fault is there. */
static int fault;
static int me, n, next;

/* What the program does. It has a frame of its own, so that reports name it. */
__attribute__((noinline)) void run(void);

int main(int argc, char **argv)
{
    (void)argv;
#ifdef FAULT
    fault = 1;
#else
    fault = argc > 1;
#endif
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    next = (me + 1) % n;
    run();
    shmem_finalize();
    return 0;
}

#endif
