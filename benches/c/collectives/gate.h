/* The wait for the next order: processes sleep outside of the measured library, so that a job uses
 * no core while another one is measured. PE 0 reads the orders from standard input:
 *
 *     OPERATION BYTES WARM_UP CALLS CHECK */
#ifndef GATE_H
#define GATE_H

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct order {
    char operation[32]; /* empty at the end of the input */
    long bytes;         /* of data, as the operation counts them */
    long warm_up;       /* calls that are not timed, at least one */
    long calls;         /* calls that are timed */
    long check;         /* whether the result of the first call is checked */
};

/* PEs and calls whose times the gate has room for. */
enum { TIMED_PES = 2, TIMED_CALLS = 4096 };

static struct gate {
    unsigned opened; /* how often */
    int done;        /* PEs that have carried out the order */
    struct order order;
    struct {
        double arrival, departure; /* in nanoseconds, by a clock that all processes share */
    } times[TIMED_PES][TIMED_CALLS];
} *gate;

/* Maps the gate in the file `path`, which is empty or contains zeros. From then on this process ends with its
 * parent, because no other process wakes it. */
static inline void gate_open(const char *path)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(path, O_RDWR);
    gate = file < 0 || ftruncate(file, sizeof *gate) != 0
               ? MAP_FAILED
               : mmap(NULL, sizeof *gate, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (gate == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(file);
}

/* Waits for the next order; false at the end of the input. Called by all PEs. */
static inline int gate_pass(int me, struct order *order)
{
    static unsigned passed;
    if (me == 0) {
        if (scanf("%31s %ld %ld %ld %ld", gate->order.operation, &gate->order.bytes,
                  &gate->order.warm_up, &gate->order.calls, &gate->order.check) != 5)
            gate->order.operation[0] = '\0';
        gate->done = 0;
        __atomic_store_n(&gate->opened, passed + 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &gate->opened, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    } else {
        while (__atomic_load_n(&gate->opened, __ATOMIC_ACQUIRE) == passed)
            syscall(SYS_futex, &gate->opened, FUTEX_WAIT, passed, NULL, NULL, 0);
    }
    passed++;
    *order = gate->order;
    return order->operation[0] != '\0';
}

/* Reports that this PE has carried out the order, or one of its calls; PE 0 waits until PEs have
 * reported `reports` times since the gate was opened. */
static inline void gate_done(int me, int reports)
{
    __atomic_add_fetch(&gate->done, 1, __ATOMIC_ACQ_REL);
    while (me == 0 && __atomic_load_n(&gate->done, __ATOMIC_ACQUIRE) < reports)
        sched_yield();
}

#endif
