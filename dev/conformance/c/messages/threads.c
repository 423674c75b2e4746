/* Threads of all PEs send and receive at the same time, each by its tag, while one more waits in a receive that is
 * posted by a message at the end. */
#include <pthread.h>
#include <shmemx.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

enum { THREADS = 4, ROUNDS = REPEAT(400, 50), LONGEST = 100000, LAST = THREADS };

static int me, n;

static void *exchange(void *argument)
{
    static const size_t lengths[] = {8, 3000, 20000, LONGEST};
    int tag = (int)(intptr_t)argument;
    unsigned char *from_here = malloc(LONGEST), *to_here = malloc(LONGEST);
    for (int k = 0; k < ROUNDS; k++) {
        size_t length = lengths[k % 4];
        int to = (me + k) % n, from = ((me - k) % n + n) % n;
        shmemx_msg_request_t request;
        shmemx_msg_status_t s;
        memset(from_here, me * 4 + tag + k, length);
        shmemx_msg_isend(WORLD, from_here, length, to, tag, &request);
        CHECK(shmemx_msg_recv(WORLD, to_here, length, from, tag, &s) == 0 && s.nbytes == length);
        size_t i = 0;
        while (i < length && to_here[i] == (unsigned char)(from * 4 + tag + k))
            i++;
        CHECK(i == length, "byte %zu of %zu from PE %d", i, length, from);
        CHECK(shmemx_msg_wait(&request, NULL) == 0);
    }
    free(from_here);
    free(to_here);
    return NULL;
}

static void *wait_for_last(void *argument)
{
    int value = -1;
    (void)argument;
    CHECK(shmemx_msg_recv(WORLD, &value, sizeof value, SHMEMX_ANY_SOURCE, LAST, NULL) == 0);
    CHECK(value == left_of(me));
    return NULL;
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    n = shmem_n_pes();
    pthread_t threads[THREADS], waiting;
    pthread_create(&waiting, NULL, wait_for_last, NULL);
    for (intptr_t t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, exchange, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    CHECK(shmemx_msg_send(WORLD, &me, sizeof me, right_of(me), LAST) == 0);
    pthread_join(waiting, NULL);
    shmem_barrier_all();
    return finish();
}
