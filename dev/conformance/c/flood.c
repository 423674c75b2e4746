/* All PEs put words to scattered places of all PEs at once, and then blocks, more than any queue
 * between them has room for: each arrives, and no PE takes another for gone that is only busy. */
#include "check.h"

enum { PUTS = REPEAT(60000, 5000), BLOCKS = REPEAT(20000, 500), BLOCK = 512 };

/* A PE's places in the order in which it puts them. */
static void shuffle(int *order, int pe)
{
    unsigned long state = 17 + (unsigned long)pe;
    for (int i = 0; i < PUTS; i++)
        order[i] = i;
    for (int i = PUTS - 1; i > 0; i--) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        int j = (int)((state >> 33) % (unsigned long)(i + 1)), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
}

static void words_everywhere(int me, int n)
{
    /* PE me's part of everybody's array; every place is put once. */
    int *words = shmem_calloc((size_t)n * PUTS, sizeof *words);
    REQUIRE(words != NULL);
    int *order = malloc(PUTS * sizeof *order);
    REQUIRE(order != NULL);
    shuffle(order, me);
    shmem_barrier_all();
    for (int i = 0; i < PUTS; i++)
        shmem_int_p(&words[me * PUTS + order[i]], order[i] + me + 1, (me + 1 + i % n) % n);
    shmem_barrier_all();
    long missing = 0;
    for (int pe = 0; pe < n; pe++) {
        shuffle(order, pe);
        for (int i = 0; i < PUTS; i++) {
            int here = (pe + 1 + i % n) % n == me;
            missing += words[pe * PUTS + order[i]] != (here ? order[i] + pe + 1 : 0);
        }
    }
    CHECK(missing == 0, "%ld words are wrong", missing);
    free(order);
    shmem_free(words);
}

/* Of 2 KiB: longer than what goes with a message, shorter than what is sent from where it is. */
static void blocks_everywhere(int me, int n)
{
    int *blocks = shmem_calloc((size_t)n * BLOCK, sizeof *blocks);
    REQUIRE(blocks != NULL);
    int source[BLOCK];
    for (int round = 1; round <= BLOCKS; round++) {
        for (int i = 0; i < BLOCK; i++)
            source[i] = round + me + i;
        for (int pe = 0; pe < n; pe++)
            shmem_int_put(&blocks[me * BLOCK], source, BLOCK, pe);
    }
    shmem_barrier_all();
    long missing = 0;
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < BLOCK; i++)
            missing += blocks[pe * BLOCK + i] != BLOCKS + pe + i;
    CHECK(missing == 0, "%ld words of blocks are wrong", missing);
    shmem_free(blocks);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    words_everywhere(me, n);
    blocks_everywhere(me, n);
    return finish();
}
