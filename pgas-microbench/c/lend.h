/* Threads of OpenMP that wait while the first one communicates. Where the library takes threads that lend themselves,
 * as FerroSHMEM by an extension, they take part in its copies; elsewhere they wait in OpenMP's barrier. */
#ifndef LEND_H
#define LEND_H

#if defined __has_include
#if __has_include(<shmemx.h>)
#include <shmemx.h>
#endif
#endif

/* By the parity of a step: whether its communication has ended. */
static int step_ended[2];

/* Called by the first thread at the end of the communication of a step. */
static inline void end_step(long step)
{
    __atomic_store_n(&step_ended[(step + 1) % 2], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&step_ended[step % 2], 1, __ATOMIC_RELEASE);
}

/* Called by the other threads, before the barrier that ends the step. */
static inline void lend_until_end(long step)
{
#ifdef SHMEMX_ANY_SOURCE
    shmemx_thread_lend(&step_ended[step % 2], -1);
#else
    (void)step;
#endif
}

#endif
