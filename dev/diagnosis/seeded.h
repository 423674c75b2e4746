/* For programs with one planted fault: with an argument they have it. */
#ifndef SEEDED_H
#define SEEDED_H

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

/* Whether the fault is there. */
static int fault;
static int me, n, next;

static void start(int argc)
{
    fault = argc > 1;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    next = (me + 1) % n;
}

#endif
