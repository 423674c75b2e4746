/* Passes a message around the ring of PEs: each hop is one put with a signal.
 *
 *     oshcc ring.c -o ring && oshrun -n 4 ./ring [ROUNDS]
 *
 * The message counts its hops and carries one word per PE, to which that PE adds the round's
 * number. shmem_put_signal delivers the message before the signal, so a PE that sees the
 * signal sees the message: no fence, no barrier.
 */
#include <shmem.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t arrived; /* the round of the latest message on this PE */

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    int n = shmem_n_pes();
    int next = (me + 1) % n;
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;

    size_t words = (size_t)n + 1; /* hops, then one word per PE */
    uint64_t *message = shmem_calloc(words, sizeof *message);
    if (message == NULL) {
        fprintf(stderr, "ring: PE %d: no symmetric memory for %zu words\n", me, words);
        shmem_global_exit(EXIT_FAILURE);
    }

    for (uint64_t round = 1; round <= rounds; round++) {
        if (me != 0 || round > 1) /* PE 0 begins; later it ends the previous round */
            shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, me == 0 ? round - 1 : round);
        message[0] += 1;
        message[1 + me] += round;
        shmem_uint64_put_signal(message, message, words, &arrived, round, SHMEM_SIGNAL_SET, next);
    }

    int failed = 0;
    if (me == 0) {
        shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, rounds);
        failed |= message[0] != rounds * (uint64_t)n;
        for (int pe = 0; pe < n; pe++)
            failed |= message[1 + pe] != rounds * (rounds + 1) / 2;
        if (failed)
            fprintf(stderr, "ring: the message is damaged after %" PRIu64 " hops\n", message[0]);
        else
            printf("ring: %" PRIu64 " rounds of %d PEs, %" PRIu64 " hops\n", rounds, n, message[0]);
    }
    shmem_free(message);
    shmem_finalize();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
