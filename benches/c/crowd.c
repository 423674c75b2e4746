/* More PEs than cores: the library's barrier, compared with a pthread barrier shared by the same
 * processes and with a counter and sched_yield; its lock, which all PEs want at once, compared with a ticket
 * lock whose waiters call sched_yield. */
#include "rounds.h"
#include <pthread.h>
#include <sched.h>

enum { COUNT = 10, TURNS = 1000, LINE = 128 };

static struct places {
    _Alignas(LINE) pthread_barrier_t barrier;
    _Alignas(LINE) unsigned arrivals;
    _Alignas(LINE) unsigned epoch;
    _Alignas(LINE) unsigned next;
    _Alignas(LINE) unsigned serving;
    _Alignas(LINE) long lock;
    _Alignas(LINE) long begun;
    long turns;
} *mine, *shared; /* PE 0's */

static void pthread_barriers(long count)
{
    for (long i = 0; i < count; i++)
        pthread_barrier_wait(&shared->barrier);
}

static void counters(long count)
{
    for (long i = 0; i < count; i++) {
        const unsigned epoch = __atomic_load_n(&shared->epoch, __ATOMIC_ACQUIRE);
        if (__atomic_add_fetch(&shared->arrivals, 1, __ATOMIC_ACQ_REL) == (unsigned)shmem_n_pes()) {
            __atomic_store_n(&shared->arrivals, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&shared->epoch, epoch + 1, __ATOMIC_RELEASE);
        }
        while (__atomic_load_n(&shared->epoch, __ATOMIC_ACQUIRE) == epoch)
            sched_yield();
    }
}

static void shmem_barriers(long count)
{
    for (long i = 0; i < count; i++)
        shmem_barrier_all();
}

static void take_ticket(void)
{
    const unsigned ticket = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&shared->serving, __ATOMIC_ACQUIRE) != ticket)
        sched_yield();
}

static void serve_next(void)
{
    __atomic_store_n(&shared->serving, shared->serving + 1, __ATOMIC_RELEASE);
}

static void set_lock(void)
{
    shmem_set_lock(&mine->lock);
}

static void clear_lock(void)
{
    shmem_clear_lock(&mine->lock);
}

/* All PEs take `count` turns each on average, counted once all want the lock. */
static void turns(long count, void take(void), void give(void))
{
    const int n = shmem_n_pes();
    long done = 0;
    for (int first = 1; done < n * count; first = 0) {
        take();
        shared->begun += first;
        done = shared->turns;
        if (shared->begun == n && done < n * count)
            shared->turns = ++done;
        give();
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        shared->begun = shared->turns = 0;
    shmem_barrier_all();
}

static void tickets(long count)
{
    turns(count, take_ticket, serve_next);
}

static void locks(long count)
{
    turns(count, set_lock, clear_lock);
}

static const struct series all[] = {
    {"barrier_all", pthread_barriers, shmem_barriers, COUNT, 1, 0},
    {"barrier_all/yields", counters, shmem_barriers, COUNT, 1, 0},
    {"lock+unlock", tickets, locks, TURNS, 1, 0},
};

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe();
    mine = shmem_align(LINE, sizeof *mine);
    memset(mine, 0, sizeof *mine);
    shared = shmem_ptr(mine, 0);
    if (me == 0) {
        pthread_barrierattr_t attributes;
        pthread_barrierattr_init(&attributes);
        pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        if (pthread_barrier_init(&mine->barrier, &attributes, (unsigned)shmem_n_pes())) {
            fprintf(stderr, "no pthread barrier of %d processes\n", shmem_n_pes());
            return 1;
        }
    }
    shmem_barrier_all();
    return serve(all, sizeof all / sizeof *all);
}
