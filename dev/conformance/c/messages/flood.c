/* More messages than inboxes hold.
 *
 * `all`: all PEs send to all before they receive anything, and receive in the reverse order.
 * `one`: all others send to PE 0, which comes late.
 * `left`: messages are left when the PEs finalize, and are gone after the next shmem_init. */
#include <shmemx.h>
#include <unistd.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

enum { BYTES = 2000 };

static void all_to_all(int me, int n)
{
    int count = REPEAT(12000, 1200) / n;
    shmemx_msg_request_t *requests = malloc(sizeof *requests * (size_t)(count * n));
    int *from_here = malloc((size_t)(count * n) * sizeof(int)), to_here[BYTES / sizeof(int)];
    for (int k = 0; k < count; k++)
        for (int pe = 0; pe < n; pe++) {
            int i = k * n + pe;
            from_here[i] = k * 1000 + me;
            size_t rest = (size_t)(count * n - i) * sizeof(int);
            shmemx_msg_isend(WORLD, &from_here[i], rest < BYTES ? rest : BYTES, pe, k,
                             &requests[i]);
        }
    for (int k = count - 1; k >= 0; k--)
        for (int pe = 0; pe < n; pe++) {
            CHECK(shmemx_msg_recv(WORLD, to_here, BYTES, pe, k, NULL) == 0);
            CHECK(to_here[0] == k * 1000 + pe);
        }
    CHECK(shmemx_msg_waitall((size_t)(count * n), requests, NULL) == 0);
    free(requests);
    free(from_here);
}

/* Blocking sends, more than PE 0 keeps, so that senders wait for it. */
static void all_to_one(int me, int n)
{
    int count = REPEAT(16000, 1600) / n, buffer[BYTES / sizeof(int)] = {0};
    if (me > 0) {
        for (int k = 0; k < count; k++) {
            buffer[0] = k;
            CHECK(shmemx_msg_send(WORLD, buffer, 4 + (size_t)k % (BYTES - 4), 0, me) == 0);
        }
        return;
    }
    sleep(1);
    for (int pe = n - 1; pe > 0; pe--)
        for (int k = 0; k < count; k++) {
            shmemx_msg_status_t s;
            CHECK(shmemx_msg_recv(WORLD, buffer, BYTES, SHMEMX_ANY_SOURCE, pe, &s) == 0);
            CHECK(buffer[0] == k && s.source == pe && s.nbytes == 4 + (size_t)k % (BYTES - 4));
        }
}

static void leave(int me, int n)
{
    int value = me;
    for (int k = 0; k < 2000; k++) {
        shmemx_msg_request_t request;
        shmemx_msg_isend(WORLD, &value, sizeof value, (me + 1) % n, k, &request);
    }
    shmem_finalize();
    shmem_init();
    shmem_barrier_all();
    CHECK(shmemx_msg_iprobe(WORLD, SHMEMX_ANY_SOURCE, SHMEMX_ANY_TAG, NULL) == 0);
    shmem_barrier_all();
    CHECK(shmemx_msg_send(WORLD, &value, sizeof value, (me + 1) % n, 1) == 0);
    CHECK(shmemx_msg_recv(WORLD, &value, sizeof value, SHMEMX_ANY_SOURCE, 1, NULL) == 0);
    CHECK(value == left_of(me));
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    const char *way = argc > 1 ? argv[1] : "all";
    if (strcmp(way, "all") == 0)
        all_to_all(me, n);
    else if (strcmp(way, "one") == 0)
        all_to_one(me, n);
    else
        leave(me, n);
    return finish();
}
