/* Non-blocking copies that idle threads make: random operations on several contexts beside a model of what the standard
 * says. The model is what a PE's block holds once its operations are complete; between an operation and
 * what completes it, neither side is looked at. */
#include "check.h"

#include <shmemx.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BLOCKS = 8,            /* of each PE, for each PE that writes */
    BLOCK = 192 << 10,     /* bytes, more than one chunk */
    CONTEXTS = 3,
    STEPS = REPEAT(400, 60),
};

static unsigned state;

static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static unsigned char *there; /* BLOCKS blocks, written by the left neighbour alone */
static unsigned char *here;  /* the sources of puts */
static unsigned char *back;  /* the destinations of gets */
static uint64_t signals[BLOCKS];
static uint64_t told[BLOCKS]; /* what the signals of the right neighbour are */

static unsigned char value[BLOCKS]; /* of the model */
static size_t length[BLOCKS];
static int context_of[BLOCKS]; /* of the operation under way; -1: none */
static int is_get[BLOCKS];

static void check_block(int i, int to)
{
    unsigned char *copy = malloc(BLOCK);
    shmem_getmem(copy, there + (size_t)i * BLOCK, BLOCK, to);
    for (size_t at = 0; at < length[i]; at += 997)
        CHECK(copy[at] == value[i], "block %d at %zu: %d, not %d", i, at, copy[at], value[i]);
    if (length[i])
        CHECK(copy[length[i] - 1] == value[i]);
    if (is_get[i])
        CHECK(memcmp(copy, back + (size_t)i * BLOCK, length[i]) == 0, "block %d", i);
    if (told[i])
        CHECK(shmem_uint64_g(&signals[i], to) == told[i], "signal %d", i);
    free(copy);
}

static void completed(int context, int to)
{
    for (int i = 0; i < BLOCKS; i++)
        if (context_of[i] >= 0 && (context < 0 || context_of[i] == context)) {
            context_of[i] = -1;
            check_block(i, to);
        }
}

static void begin(shmem_ctx_t *contexts, int i, int to)
{
    int c = (int)draw(CONTEXTS);
    size_t bytes = draw(3) ? 1 + draw(BLOCK) : 1 + draw(64);
    size_t first = (size_t)i * BLOCK;
    context_of[i] = c;
    is_get[i] = 0;
    switch (draw(4)) {
    case 0: /* gets what the block holds */
        is_get[i] = 1;
        if (length[i] > 0)
            shmem_ctx_getmem_nbi(contexts[c], back + first, there + first, length[i], to);
        break;
    case 1:
        value[i]++;
        length[i] = bytes;
        memset(here + first, value[i], bytes);
        told[i] += 2;
        shmem_ctx_putmem_signal_nbi(contexts[c], there + first, here + first, bytes, &signals[i],
                                    2, SHMEM_SIGNAL_ADD, to);
        break;
    case 2:
        value[i]++;
        length[i] = (bytes + 7) / 8 * 8;
        memset(here + first, value[i], length[i]);
        shmem_ctx_put64_nbi(contexts[c], there + first, here + first, length[i] / 8, to);
        break;
    default:
        value[i]++;
        length[i] = bytes;
        memset(here + first, value[i], bytes);
        shmem_ctx_putmem_nbi(contexts[c], there + first, here + first, bytes, to);
    }
}

static void check_model(int me, int to)
{
    shmem_ctx_t contexts[CONTEXTS] = {SHMEM_CTX_DEFAULT};
    for (int c = 1; c < CONTEXTS; c++)
        REQUIRE(shmem_ctx_create(c == 1 ? SHMEM_CTX_PRIVATE : 0, &contexts[c]) == 0);
    state = 77u + (unsigned)me;
    for (int i = 0; i < BLOCKS; i++)
        context_of[i] = -1;
    for (int step = 0; step < STEPS; step++) {
        int i = (int)draw(BLOCKS);
        int c = (int)draw(CONTEXTS);
        if (context_of[i] < 0) {
            begin(contexts, i, to);
            continue;
        }
        switch (draw(8)) {
        case 0:
            shmem_ctx_pe_quiet(contexts[c], &to, 1);
            break;
        case 1:
            shmem_quiet();
            c = 0;
            break;
        case 2: /* destroys its context, which completes what it has */
            if (c > 0) {
                shmem_ctx_destroy(contexts[c]);
                REQUIRE(shmem_ctx_create(0, &contexts[c]) == 0);
                break;
            }
            /* fall through */
        default:
            shmem_ctx_quiet(contexts[c]);
        }
        completed(c, to);
    }
    for (int c = 1; c < CONTEXTS; c++)
        shmem_ctx_destroy(contexts[c]);
    shmem_barrier_all();
    completed(-1, to);
}

/* What follows a fence is seen after the copies before it, and so is a signal after its data. */
static void check_order(int me, int to)
{
    static long flag, *const f = &flag;
    for (long round = 1; round <= REPEAT(30, 5); round++) {
        memset(here, (int)round, BLOCK);
        memset(here + BLOCK, (int)round, BLOCK);
        shmem_putmem_nbi(there, here, BLOCK, to);
        shmem_fence();
        shmem_long_p(f, round, to);
        shmem_putmem_signal_nbi(there + BLOCK, here + BLOCK, BLOCK, &signals[1], (uint64_t)round,
                                SHMEM_SIGNAL_SET, to);
        shmem_long_wait_until(f, SHMEM_CMP_GE, round);
        CHECK(there[0] == (unsigned char)round && there[BLOCK - 1] == (unsigned char)round);
        shmem_signal_wait_until(&signals[1], SHMEM_CMP_GE, (uint64_t)round);
        CHECK(there[BLOCK] == (unsigned char)round && there[2 * BLOCK - 1] == (unsigned char)round);
        shmem_barrier_all();
    }
    (void)me;
}

/* Strided and block copies, forwards and backwards, as large as threads share them. */
static void check_packing(int me, int to)
{
    enum { ROWS = 1000, COLUMNS = 64 };
    static double matrix[ROWS * COLUMNS], column[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        matrix[i] = me * 1e6 + i;
    shmem_barrier_all();
    for (int c = 0; c < COLUMNS; c += 9) {
        shmem_double_iget(column, matrix + c, 1, COLUMNS, ROWS, to);
        for (int r = 0; r < ROWS; r++)
            CHECK(column[r] == to * 1e6 + r * COLUMNS + c);
        if (c > COLUMNS - 4)
            continue;
        shmem_double_ibget(column, matrix + c, 4, COLUMNS, 4, ROWS, to);
        for (int r = 0; r < 4 * ROWS; r++)
            CHECK(column[r] == to * 1e6 + r / 4 * COLUMNS + c + r % 4);
    }
    shmem_double_iget(column + ROWS - 1, matrix, -1, 1, ROWS, to);
    for (int r = 0; r < ROWS; r++)
        CHECK(column[ROWS - 1 - r] == to * 1e6 + r);
    shmem_barrier_all();
    for (int r = 0; r < ROWS; r++)
        column[r] = r;
    shmem_double_iput(matrix, column, COLUMNS, 1, ROWS, to);
    shmem_double_ibput(matrix + 1, column, COLUMNS, 2, 2, ROWS / 2, to);
    shmem_barrier_all();
    for (int r = 0; r < ROWS; r++)
        CHECK(matrix[r * COLUMNS] == r);
    for (int r = 0; r < ROWS / 2; r++)
        CHECK(matrix[r * COLUMNS + 1] == 2 * r && matrix[r * COLUMNS + 2] == 2 * r + 1);
    shmem_barrier_all();
}

/* Blocks longer than a chunk, which threads share in pieces where they are too short to be shared by themselves. The
 * call is the library's, not the one that the header expands. */
static void check_long_blocks(int me, int to)
{
    enum { COUNT = 8, LONG = 300001, APART = 300100, BACK = 300010 };
    static void (*volatile get)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int) = shmem_ibget8;
    static unsigned char source[COUNT * APART], dest[COUNT * BACK];
    for (int i = 0; i < COUNT * APART; i++)
        source[i] = (unsigned char)(me * 31 + i * 7 + i / 1021);
    memset(dest, 0, sizeof dest);
    shmem_barrier_all();
    get(dest, source, BACK, APART, LONG, COUNT, to);
    int wrong = 0;
    for (int b = 0; b < COUNT; b++)
        for (int i = 0; i < BACK; i++) {
            const int from = b * APART + i;
            const unsigned char want = (unsigned char)(to * 31 + from * 7 + from / 1021);
            wrong += dest[b * BACK + i] != (i < LONG ? want : 0);
        }
    CHECK(wrong == 0);
    shmem_barrier_all();
}

/* Copies are under way while the process forks; child and parent go on, and so does a program that is executed. */
static void check_fork(int to)
{
    enum { BYTES = 4 << 20 };
    unsigned char *large = shmem_malloc(BYTES), *source = malloc(BYTES);
    memset(source, 9, BYTES);
    for (int round = 0; round < 3; round++) {
        shmem_putmem_nbi(large, source, BYTES, to);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            _exit(41);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 41);
        shmem_quiet();
    }
    fflush(stdout);
    shmem_putmem_nbi(large, source, BYTES, to);
    CHECK(system("exit 3") >> 8 == 3);
    shmem_barrier_all();
    CHECK(large[0] == 9 && large[BYTES - 1] == 9);
    shmem_free(large);
    free(source);
}

static void *lend(void *until)
{
    shmemx_thread_lend(until, -1);
    return NULL;
}

static void *lend_until_cancelled(void *unused)
{
    (void)unused;
    for (;;) {
        shmemx_thread_lend(NULL, 2);
        pthread_testcancel();
    }
    return NULL;
}

/* Threads lend themselves, of which one is cancelled. */
static void check_lend(int to)
{
    enum { BYTES = 3 << 20 };
    static int until;
    static unsigned char large[BYTES], source[BYTES];
    pthread_t helper, cancelled;
    until = 0;
    shmem_barrier_all();
    REQUIRE(pthread_create(&helper, NULL, lend, &until) == 0);
    REQUIRE(pthread_create(&cancelled, NULL, lend_until_cancelled, NULL) == 0);
    for (int round = 1; round <= REPEAT(20, 3); round++) {
        memset(source, round, BYTES);
        if (round % 2) {
            shmem_putmem(large, source, BYTES, to);
        } else {
            shmem_putmem_nbi(large, source, BYTES, to);
        }
        if (round == 10) {
            REQUIRE(pthread_cancel(cancelled) == 0);
        }
        shmem_barrier_all();
        for (int i = 0; i < BYTES; i += 4095)
            CHECK(large[i] == round, "%d: %d, not %d", i, large[i], round);
        shmem_barrier_all();
    }
    pthread_cancel(cancelled);
    void *result = NULL;
    REQUIRE(pthread_join(cancelled, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    __atomic_store_n(&until, 1, __ATOMIC_RELEASE);
    REQUIRE(pthread_join(helper, NULL) == 0);
    CHECK(shmemx_thread_lend(NULL, 1) >= 0);
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        int provided;
        REQUIRE(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
        int me = shmem_my_pe(), to = right_of(me);
        there = shmem_calloc(BLOCKS, BLOCK);
        here = malloc((size_t)BLOCKS * BLOCK);
        back = calloc(BLOCKS, BLOCK);
        memset(signals, 0, sizeof signals);
        memset(told, 0, sizeof told);
        memset(value, 0, sizeof value);
        memset(length, 0, sizeof length);
        shmem_barrier_all();
        check_model(me, to);
        shmem_barrier_all();
        check_packing(me, to);
        check_long_blocks(me, to);
        if (round == 0) {
            memset(signals, 0, sizeof signals);
            shmem_barrier_all();
            check_order(me, to);
            check_fork(to);
            check_lend(to);
        }
        shmem_barrier_all();
        shmem_free(there);
        free(here);
        free(back);
        /* A copy that nothing completes but the end. */
        static char global[1 << 20], from[1 << 20];
        shmem_putmem_nbi(global, from, sizeof global, to);
        shmem_finalize();
    }
    return check_status();
}
