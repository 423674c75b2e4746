/* The rate of puts by threads that have a context of their own each.
 *
 *     threads BYTES PUTS ROUNDS    on 2 PEs
 *
 * PE 0 puts BYTES bytes, 8 or more, to random places of PE 1, PUTS times in each thread, and each thread quiets its
 * context: in each of ROUNDS rounds by one thread, then by four. The output has a line for each round: million puts a
 * second of all threads:
 *
 *     ONE FOUR
 *
 * In the end the last word of each thread is verified. */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

enum { THREADS = 4, PLACES = 512 };

static size_t bytes;
static long n_puts;
static char *dest;
static long *last; /* of each thread, on PE 1 */
static pthread_barrier_t turn;
static int rounds;
static long source[THREADS][1 << 13];

/* Takes part in the rounds of one thread if it is the first, and in those of all. */
static void *work(void *argument)
{
    long id = (long)argument;
    unsigned random = (unsigned)id * 7919 + 1;
    shmem_ctx_t ctx;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0)
        shmem_global_exit(1);
    char *mine = dest + (size_t)id * PLACES * bytes;
    for (int part = 0; part < 2 * rounds; part++) {
        pthread_barrier_wait(&turn);
        if (id == 0 || part % 2) {
            for (long i = 0; i < n_puts; i++) {
                random = random * 1664525u + 1013904223u;
                char *to = mine + (random >> 16) % PLACES * bytes;
                if (bytes == sizeof(long))
                    shmem_ctx_long_p(ctx, (long *)to, i, 1);
                else
                    shmem_ctx_putmem_nbi(ctx, to, source[id], bytes, 1);
            }
            shmem_ctx_quiet(ctx);
        }
        pthread_barrier_wait(&turn);
    }
    shmem_ctx_long_p(ctx, &last[id], n_puts + id, 1);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : sizeof(long);
    n_puts = argc > 2 ? atol(argv[2]) : 20000;
    rounds = argc > 3 ? atoi(argv[3]) : 21;
    if (provided != SHMEM_THREAD_MULTIPLE || shmem_n_pes() != 2 || bytes < sizeof(long) ||
        bytes > sizeof source[0]) {
        fprintf(stderr, "usage: threads BYTES PUTS ROUNDS, on 2 PEs\n");
        shmem_global_exit(1);
    }
    dest = shmem_malloc(THREADS * PLACES * bytes);
    last = shmem_calloc(THREADS, sizeof *last);
    if (shmem_my_pe() == 0) {
        pthread_t threads[THREADS];
        pthread_barrier_init(&turn, NULL, THREADS + 1);
        for (long id = 0; id < THREADS; id++)
            pthread_create(&threads[id], NULL, work, (void *)id);
        double rate[2];
        for (int part = 0; part < 2 * rounds; part++) {
            pthread_barrier_wait(&turn);
            double begin = now_ns();
            pthread_barrier_wait(&turn);
            double total = (double)n_puts * (part % 2 ? THREADS : 1);
            rate[part % 2] = 1e3 * total / (now_ns() - begin);
            if (part % 2)
                printf("%.4f %.4f\n", rate[0], rate[1]);
        }
        for (int id = 0; id < THREADS; id++)
            pthread_join(threads[id], NULL);
    }
    shmem_barrier_all();
    for (int id = 0; shmem_my_pe() == 1 && id < THREADS; id++)
        if (last[id] != n_puts + id) {
            fprintf(stderr, "thread %d: %ld, not %ld\n", id, last[id], n_puts + id);
            shmem_global_exit(1);
        }
    shmem_finalize();
}
