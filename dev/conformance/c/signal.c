/* Signals: set and add, with and without data, blocking and not; the data is there when the
 * signal is; wait returns the value that satisfied it. */
#include "check.h"

/* Between nodes, 4 KB go in a message with their signal, 32 KB in a write before it. */
enum { WORDS = 8000, FEW = 1000, ROUNDS = REPEAT(100, 4) };

static uint64_t signal_word;
static uint64_t counters[4];
static int data[WORDS];

static void bare_signals(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), to = right_of(me);
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);
    counters[0] = counters[1] = 0;
    shmem_barrier_all();
    shmem_signal_set(&signal_word, 100 + (uint64_t)me, to);
    uint64_t seen = shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 0);
    CHECK(seen == 100 + (uint64_t)left_of(me), "%llu", (unsigned long long)seen);
    CHECK(shmem_signal_fetch(&signal_word) == seen);
    shmem_barrier_all();
    shmem_ctx_signal_set(ctx, &signal_word, 7, to);
    CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 7) == 7);
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < ROUNDS; i++) {
            shmem_signal_add(&counters[0], 3, pe);
            shmem_ctx_signal_add(ctx, &counters[1], UINT64_MAX, pe); /* that is, less 1 */
        }
    uint64_t want = 3u * ROUNDS * (uint64_t)n;
    CHECK(shmem_signal_wait_until(&counters[0], SHMEM_CMP_GE, want) == want);
    want = -(uint64_t)(ROUNDS * n);
    CHECK(shmem_signal_wait_until(&counters[1], SHMEM_CMP_EQ, want) == want);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

static void put_one(int form, const int *source, size_t n, uint64_t round, int to, shmem_ctx_t ctx)
{
    switch (form) {
    case 0: shmem_int_put_signal(data, source, n, &signal_word, round, SHMEM_SIGNAL_SET, to); break;
    case 1: shmem_int_put_signal_nbi(data, source, n, &signal_word, 1, SHMEM_SIGNAL_ADD, to); break;
    case 2:
        shmem_putmem_signal(data, source, n * sizeof *source, &signal_word, 1, SHMEM_SIGNAL_ADD, to);
        break;
    case 3:
        shmem_ctx_putmem_signal_nbi(ctx, data, source, n * sizeof *source, &signal_word, round,
                                    SHMEM_SIGNAL_SET, to);
        break;
    case 4: shmem_put32_signal(data, source, n, &signal_word, round, SHMEM_SIGNAL_SET, to); break;
    default:
        shmem_ctx_int_put_signal(ctx, data, source, n, &signal_word, 1, SHMEM_SIGNAL_ADD, to);
    }
}

static void with_data(int form)
{
    static uint64_t acknowledged;
    int me = shmem_my_pe(), to = right_of(me), from = left_of(me);
    int source[WORDS];
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
    signal_word = acknowledged = 0;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        int words = round % 2 ? FEW : WORDS;
        for (int i = 0; i < words; i++)
            source[i] = (int)round * 10000 + i * 3 + me;
        put_one(form, source, (size_t)words, round, to, ctx);
        uint64_t seen = shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, round);
        CHECK(seen == round, "form %d: %llu", form, (unsigned long long)seen);
        for (int i = 0; i < words; i++)
            CHECK(data[i] == (int)round * 10000 + i * 3 + from, "form %d round %d word %d", form,
                  (int)round, i);
        shmem_signal_add(&acknowledged, 1, from);
        shmem_signal_wait_until(&acknowledged, SHMEM_CMP_GE, round);
        shmem_ctx_quiet(ctx);
        shmem_quiet();
    }
    /* No data at all: the signal alone. */
    shmem_int_put_signal(data, NULL, 0, &signal_word, 12345, SHMEM_SIGNAL_SET, to);
    CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 12345) == 12345);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

/* Every PE signals one PE: the additions of all are in the sum. */
static void many_to_one(void)
{
    static uint64_t arrivals;
    static int slots[64];
    int me = shmem_my_pe(), n = shmem_n_pes();
    REQUIRE(n <= 64);
    for (int root = 0; root < n; root++) {
        arrivals = 0;
        shmem_barrier_all();
        int value = root * 100 + me;
        shmem_int_put_signal(&slots[me], &value, 1, &arrivals, 1, SHMEM_SIGNAL_ADD, root);
        if (me == root) {
            shmem_signal_wait_until(&arrivals, SHMEM_CMP_EQ, (uint64_t)n);
            for (int pe = 0; pe < n; pe++)
                CHECK(slots[pe] == root * 100 + pe, "from PE %d: %d", pe, slots[pe]);
        }
        shmem_barrier_all();
    }
}

int main(void)
{
    shmem_init();
    bare_signals();
    for (int form = 0; form < 6; form++)
        with_data(form);
    many_to_one();
    return finish();
}
