/* How each family of routines is called and what must come of it. Every PE works on its
 * neighbours `to` and `from`; N elements; values are small, so that they fit every type. */
#include <pshmem.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 4 };

static int me, n, to, from;
static long calls, failures;
static shmem_ctx_t ctx;
/* Symmetric: two areas that hold 2 N elements of any type for every PE, and one signal. */
static unsigned char *area, *area2;
static uint64_t *signal_word;
static long p_sync[SHMEM_SYNC_SIZE];

#define NO_CTX
#define CTX ctx,

static void check(int ok, const char *name) {
    calls++;
    if (!ok) {
        failures++;
        printf("PE %d of %d: %s: wrong result\n", me, n, name);
    }
}

static void complete(void) {
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

/* Clears what the test before has left: after all PEs are done with it, and before any of
 * them goes on. */
static void begin(void) {
    shmem_barrier_all();
    memset(area, 0, 64 * (size_t)n * N);
    memset(area2, 0, 64 * (size_t)n * N);
    *signal_word = 0;
    shmem_barrier_all();
}

static inline unsigned char byte_of(int pe, size_t i) {
    return (unsigned char)(pe * 7 + (int)i + 1);
}

static inline void fill(unsigned char *at, int pe, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) at[i] = byte_of(pe, i);
}

static inline int filled(const unsigned char *at, int pe, size_t first, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(pe, first + i)) return 0;
    return 1;
}

static inline int zero(const unsigned char *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0) return 0;
    return 1;
}

#define OF(T, pe, i) ((T)((pe) % 50 + (int)(i) + 1))
#define FILL(T, at, pe) \
    for (int i_ = 0; i_ < N; i_++) (at)[i_] = OF(T, pe, i_)
#define ALL(ok, i, count, condition) \
    int ok = 1;                      \
    for (int i = 0; i < (count); i++) ok = ok && (condition)



/* Remote memory access */

#define PUT(NAME, T, P) {                          \
    T source[N], *dest = (T *)(void *)area;        \
    FILL(T, source, me);                           \
    begin();                                       \
    F(NAME)(P dest, source, N, to);                \
    F(NAME)(P dest + N, source + 2, 1, to);        \
    complete();                                    \
    ALL(ok, i, N, dest[i] == OF(T, from, i));      \
    check(ok && dest[N] == OF(T, from, 2), #NAME); \
    }

#define PUT_SIZE(NAME, SIZE, P) {                                                      \
    unsigned char source[N * SIZE];                                                    \
    fill(source, me, N * SIZE);                                                        \
    begin();                                                                           \
    F(NAME)(P area, source, N, to);                                                    \
    F(NAME)(P area + N * SIZE, source + SIZE, 1, to);                                  \
    complete();                                                                        \
    check(filled(area, from, 0, N * SIZE) && filled(area + N * SIZE, from, SIZE, SIZE) \
              && zero(area + (N + 1) * SIZE, SIZE), #NAME);                            \
    }

#define P(NAME, T, P) {                                                            \
    T *dest = (T *)(void *)area;                                                   \
    begin();                                                                       \
    F(NAME)(P dest + 1, OF(T, me, 1), to);                                         \
    complete();                                                                    \
    check(dest[0] == (T)0 && dest[1] == OF(T, from, 1) && dest[2] == (T)0, #NAME); \
    }

#define GET(NAME, T, P) {                        \
    T dest[N + 1], *source = (T *)(void *)area;  \
    begin();                                     \
    FILL(T, source, me);                         \
    complete();                                  \
    F(NAME)(P dest, source, N, to);              \
    F(NAME)(P dest + N, source + 2, 1, to);      \
    complete();                                  \
    ALL(ok, i, N, dest[i] == OF(T, to, i));      \
    check(ok && dest[N] == OF(T, to, 2), #NAME); \
    }

#define GET_SIZE(NAME, SIZE, P) {                                                           \
    unsigned char dest[(N + 1) * SIZE];                                                     \
    begin();                                                                                \
    fill(area, me, N * SIZE);                                                               \
    complete();                                                                             \
    F(NAME)(P dest, area, N, to);                                                           \
    F(NAME)(P dest + N * SIZE, area + SIZE, 1, to);                                         \
    complete();                                                                             \
    check(filled(dest, to, 0, N * SIZE) && filled(dest + N * SIZE, to, SIZE, SIZE), #NAME); \
    }

#define G(NAME, T, P) {                   \
    T *source = (T *)(void *)area, value; \
    begin();                              \
    FILL(T, source, me);                  \
    complete();                           \
    value = F(NAME)(P source + 1, to);    \
    check(value == OF(T, to, 1), #NAME);  \
    }

#define IPUT(NAME, T, P) {                                                   \
    T source[N], *dest = (T *)(void *)area;                                  \
    FILL(T, source, me);                                                     \
    begin();                                                                 \
    F(NAME)(P dest, source, 2, 1, N, to);                                    \
    complete();                                                              \
    ALL(ok, i, N, dest[2 * i] == OF(T, from, i) && dest[2 * i + 1] == (T)0); \
    check(ok, #NAME);                                                        \
    }

#define IGET(NAME, T, P) {                                    \
    T dest[N], *source = (T *)(void *)area;                   \
    begin();                                                  \
    for (int i = 0; i < N; i++) source[2 * i] = OF(T, me, i); \
    complete();                                               \
    F(NAME)(P dest, source, 1, 2, N, to);                     \
    ALL(ok, i, N, dest[i] == OF(T, to, i));                   \
    check(ok, #NAME);                                         \
    }

#define IPUT_SIZE(NAME, SIZE, P) {                                          \
    unsigned char source[N * SIZE];                                         \
    fill(source, me, N * SIZE);                                             \
    begin();                                                                \
    F(NAME)(P area, source, 2, 1, N, to);                                   \
    complete();                                                             \
    ALL(ok, i, N, filled(area + 2 * i * SIZE, from, (size_t)i * SIZE, SIZE) \
                  && zero(area + (2 * i + 1) * SIZE, SIZE));                \
    check(ok, #NAME);                                                       \
    }

#define IGET_SIZE(NAME, SIZE, P) {                                          \
    unsigned char dest[N * SIZE];                                           \
    begin();                                                                \
    fill(area, me, 2 * N * SIZE);                                           \
    complete();                                                             \
    F(NAME)(P dest, area, 1, 2, N, to);                                     \
    ALL(ok, i, N, filled(dest + i * SIZE, to, 2 * (size_t)i * SIZE, SIZE)); \
    check(ok, #NAME);                                                       \
    }

/* Two blocks of two elements, three apart on one side and two on the other. */

#define IBPUT(NAME, T, P) {                                   \
    T source[N], *dest = (T *)(void *)area;                   \
    FILL(T, source, me);                                      \
    begin();                                                  \
    F(NAME)(P dest, source, 3, 2, 2, 2, to);                  \
    complete();                                               \
    ALL(ok, i, N, dest[i / 2 * 3 + i % 2] == OF(T, from, i)); \
    check(ok && dest[2] == (T)0, #NAME);                      \
    }

#define IBGET(NAME, T, P) {                                               \
    T dest[N], *source = (T *)(void *)area;                               \
    begin();                                                              \
    for (int i = 0; i < N; i++) source[i / 2 * 3 + i % 2] = OF(T, me, i); \
    complete();                                                           \
    F(NAME)(P dest, source, 2, 3, 2, 2, to);                              \
    ALL(ok, i, N, dest[i] == OF(T, to, i));                               \
    check(ok, #NAME);                                                     \
    }

#define IBPUT_SIZE(NAME, SIZE, P) {                                         \
    unsigned char source[N * SIZE];                                         \
    fill(source, me, N * SIZE);                                             \
    begin();                                                                \
    F(NAME)(P area, source, 3, 2, 2, 2, to);                                \
    complete();                                                             \
    check(filled(area, from, 0, 2 * SIZE) && zero(area + 2 * SIZE, SIZE)    \
              && filled(area + 3 * SIZE, from, 2 * SIZE, 2 * SIZE), #NAME); \
    }

#define IBGET_SIZE(NAME, SIZE, P) {                                                                \
    unsigned char dest[N * SIZE];                                                                  \
    begin();                                                                                       \
    fill(area, me, 2 * N * SIZE);                                                                  \
    complete();                                                                                    \
    F(NAME)(P dest, area, 2, 3, 2, 2, to);                                                         \
    check(filled(dest, to, 0, 2 * SIZE) && filled(dest + 2 * SIZE, to, 3 * SIZE, 2 * SIZE), #NAME); \
    }

/* Atomic memory operations: the neighbour's variable holds 6 */

#define ATOMIC_SET(NAME, T, P) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(P var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)3, #NAME); \
    }

#define ATOMIC_FETCH(NAME, T, P) {             \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = (T)0; old = F(NAME)(P var, to);      \
    complete();                                \
    check(old == (T)6 && *var == (T)6, #NAME); \
    }

#define ATOMIC_FETCH_NBI(NAME, T, P) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = (T)0; F(NAME)(P &old, var, to);      \
    complete();                                \
    check(old == (T)6 && *var == (T)6, #NAME); \
    }

#define ATOMIC_SWAP(NAME, T, P) {              \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(P var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)3, #NAME); \
    }

#define ATOMIC_SWAP_NBI(NAME, T, P) {           \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(P &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)3, #NAME);  \
    }

#define ATOMIC_COMPARE_SWAP(NAME, T, P) {                       \
    T *var = (T *)(void *)area, other, old;                     \
    begin();                                                    \
    *var = (T)6;                                                \
    complete();                                                 \
    other = F(NAME)(P var, (T)5, (T)9, to);                     \
    old = F(NAME)(P var, (T)6, (T)3, to);                       \
    complete();                                                 \
    check(other == (T)6 && old == (T)6 && *var == (T)3, #NAME); \
    }

#define ATOMIC_COMPARE_SWAP_NBI(NAME, T, P) {                   \
    T *var = (T *)(void *)area, other = (T)0, old = (T)0;       \
    begin();                                                    \
    *var = (T)6;                                                \
    complete();                                                 \
    F(NAME)(P &other, var, (T)5, (T)9, to);                     \
    F(NAME)(P &old, var, (T)6, (T)3, to);                       \
    complete();                                                 \
    check(other == (T)6 && old == (T)6 && *var == (T)3, #NAME); \
    }

#define ATOMIC_INC(NAME, T, P) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(P var, to);                        \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
    }

#define ATOMIC_FETCH_INC(NAME, T, P) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(P var, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
    }

#define ATOMIC_FETCH_INC_NBI(NAME, T, P) {     \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = (T)0; F(NAME)(P &old, var, to);      \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
    }

#define ATOMIC_ADD(NAME, T, P) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(P var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)9, #NAME); \
    }

#define ATOMIC_FETCH_ADD(NAME, T, P) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(P var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)9, #NAME); \
    }

#define ATOMIC_FETCH_ADD_NBI(NAME, T, P) {      \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(P &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)9, #NAME);  \
    }

#define ATOMIC_AND(NAME, T, P) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(P var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)2, #NAME); \
    }

#define ATOMIC_FETCH_AND(NAME, T, P) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(P var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)2, #NAME); \
    }

#define ATOMIC_FETCH_AND_NBI(NAME, T, P) {      \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(P &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)2, #NAME);  \
    }

#define ATOMIC_OR(NAME, T, P) {                \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(P var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
    }

#define ATOMIC_FETCH_OR(NAME, T, P) {          \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(P var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
    }

#define ATOMIC_FETCH_OR_NBI(NAME, T, P) {       \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(P &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)7, #NAME);  \
    }

#define ATOMIC_XOR(NAME, T, P) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(P var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)5, #NAME); \
    }

#define ATOMIC_FETCH_XOR(NAME, T, P) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(P var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)5, #NAME); \
    }

#define ATOMIC_FETCH_XOR_NBI(NAME, T, P) {      \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(P &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)5, #NAME);  \
    }

/* Signals */

#define PUT_SIGNAL(NAME, T, P) {                                      \
    T source[N], *dest = (T *)(void *)area;                           \
    FILL(T, source, me);                                              \
    begin();                                                          \
    shmem_barrier_all();                                              \
    F(NAME)(P dest, source, N, signal_word, 5, SHMEM_SIGNAL_SET, to); \
    shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, 5);            \
    ALL(ok, i, N, dest[i] == OF(T, from, i));                         \
    complete();                                                       \
    F(NAME)(P dest, source, 0, signal_word, 2, SHMEM_SIGNAL_ADD, to); \
    shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, 7);            \
    check(ok, #NAME);                                                 \
    complete();                                                       \
    }

#define PUT_SIGNAL_SIZE(NAME, SIZE, P) {                              \
    unsigned char source[N * SIZE];                                   \
    fill(source, me, N * SIZE);                                       \
    begin();                                                          \
    shmem_barrier_all();                                              \
    F(NAME)(P area, source, N, signal_word, 5, SHMEM_SIGNAL_SET, to); \
    shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, 5);            \
    check(filled(area, from, 0, N * SIZE), #NAME);                    \
    complete();                                                       \
    }

#define SIGNAL_SET(NAME, P) {        \
    begin();                         \
    *signal_word = 1;                \
    shmem_barrier_all();             \
    F(NAME)(P signal_word, 5, to);   \
    complete();                      \
    check(*signal_word == 5, #NAME); \
    }

#define SIGNAL_ADD(NAME, P) {        \
    begin();                         \
    *signal_word = 1;                \
    shmem_barrier_all();             \
    F(NAME)(P signal_word, 5, to);   \
    complete();                      \
    check(*signal_word == 6, #NAME); \
    }

#define SIGNAL_FETCH(NAME, P) {              \
    begin();                                 \
    shmem_signal_set(signal_word, 8, me);    \
    check(F(NAME)(signal_word) == 8, #NAME); \
    }

#define SIGNAL_WAIT_UNTIL(NAME, P) {                          \
    begin();                                                  \
    shmem_barrier_all();                                      \
    shmem_signal_set(signal_word, 8, to);                     \
    check(F(NAME)(signal_word, SHMEM_CMP_GT, 3) == 8, #NAME); \
    complete();                                               \
    }

/* Collectives on teams */

#define CALL(NAME, P) { \
    F(NAME)();          \
    check(1, #NAME);    \
    }

#define TEAM_SYNC(NAME, P) {                      \
    check(F(NAME)(SHMEM_TEAM_WORLD) == 0, #NAME); \
    }

#define BROADCAST(NAME, T, P) {                                 \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2;  \
    begin();                                                    \
    FILL(T, source, me);                                        \
    shmem_barrier_all();                                        \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, N, n - 1); \
    ALL(ok, i, N, dest[i] == OF(T, n - 1, i));                  \
    check(ok && rc == 0, #NAME);                                \
    }

#define BROADCAST_SIZE(NAME, SIZE, P) {                    \
    begin();                                               \
    fill(area2, me, N * SIZE);                             \
    shmem_barrier_all();                                   \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, area, area2, N, 0); \
    check(rc == 0 && filled(area, 0, 0, N * SIZE), #NAME); \
    }

#define COLLECT(NAME, T, P) {                                  \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2; \
    begin();                                                   \
    FILL(T, source, me);                                       \
    shmem_barrier_all();                                       \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, N);       \
    ALL(ok, i, n * N, dest[i] == OF(T, i / N, i % N));         \
    check(ok && rc == 0, #NAME);                               \
    }

#define COLLECT_SIZE(NAME, SIZE, P) {                           \
    begin();                                                    \
    fill(area2, me, N * SIZE);                                  \
    shmem_barrier_all();                                        \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, area, area2, N);         \
    ALL(ok, i, n, filled(area + i * N * SIZE, i, 0, N * SIZE)); \
    check(ok && rc == 0, #NAME);                                \
    }

#define ALLTOALL(NAME, T, P) {                                            \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2;            \
    begin();                                                              \
    for (int i = 0; i < n * N; i++) source[i] = OF(T, me + i / N, i % N); \
    shmem_barrier_all();                                                  \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, N);                  \
    ALL(ok, i, n * N, dest[i] == OF(T, me + i / N, i % N));               \
    check(ok && rc == 0, #NAME);                                          \
    }

#define ALLTOALL_SIZE(NAME, SIZE, P) {                                        \
    begin();                                                                  \
    for (int i = 0; i < n; i++) fill(area2 + i * N * SIZE, me + i, N * SIZE); \
    shmem_barrier_all();                                                      \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, area, area2, N);                       \
    ALL(ok, i, n, filled(area + i * N * SIZE, me + i, 0, N * SIZE));          \
    check(ok && rc == 0, #NAME);                                              \
    }

#define ALLTOALLS(NAME, T, P) {                                           \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2;            \
    begin();                                                              \
    for (int i = 0; i < n * N; i++) source[i] = OF(T, me + i / N, i % N); \
    shmem_barrier_all();                                                  \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, 2, 1, N);            \
    ALL(ok, i, n * N, dest[2 * i] == OF(T, me + i / N, i % N));           \
    check(ok && rc == 0, #NAME);                                          \
    }

#define ALLTOALLS_SIZE(NAME, SIZE, P) {                                       \
    begin();                                                                  \
    for (int i = 0; i < n; i++) fill(area2 + i * N * SIZE, me + i, N * SIZE); \
    shmem_barrier_all();                                                      \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, area, area2, 1, 1, N);                 \
    ALL(ok, i, n, filled(area + i * N * SIZE, me + i, 0, N * SIZE));          \
    check(ok && rc == 0, #NAME);                                              \
    }

/* Every element on every PE is MINE; the reduction of them all is RESULT. */

#define REDUCE_(NAME, T, MINE, RESULT) {                       \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2; \
    begin();                                                   \
    for (int i = 0; i < N; i++) source[i] = (T)(MINE);         \
    shmem_barrier_all();                                       \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, N);       \
    ALL(ok, i, N, dest[i] == (T)(RESULT));                     \
    check(ok && rc == 0, #NAME);                               \
    }

#define AND_REDUCE(NAME, T, P) REDUCE_(NAME, T, me == 0 ? 6 : 7, 6)

#define OR_REDUCE(NAME, T, P) REDUCE_(NAME, T, me == 0 ? 1 : 2, n > 1 ? 3 : 1)

#define XOR_REDUCE(NAME, T, P) REDUCE_(NAME, T, 1, n % 2)

#define MAX_REDUCE(NAME, T, P) REDUCE_(NAME, T, me % 50, n > 50 ? 49 : n - 1)

#define MIN_REDUCE(NAME, T, P) REDUCE_(NAME, T, me % 50 + 2, 2)

#define SUM_REDUCE(NAME, T, P) REDUCE_(NAME, T, 1, n)

#define PROD_REDUCE(NAME, T, P) REDUCE_(NAME, T, me == 0 ? 3 : 1, 3)

#define INSCAN(NAME, T, P) REDUCE_(NAME, T, 1, me + 1)
#define EXSCAN(NAME, T, P) REDUCE_(NAME, T, 1, me)

/* Collectives on active sets */

#define OLD_BARRIER(NAME, P) { \
    begin();                   \
    F(NAME)(0, 0, n, p_sync);  \
    check(1, #NAME);           \
    }

#define OLD_BROADCAST(NAME, SIZE, P) {                                           \
    begin();                                                                     \
    fill(area2, me, N * SIZE);                                                   \
    shmem_barrier_all();                                                         \
    F(NAME)(area, area2, N, 0, 0, 0, n, p_sync);                                 \
    check(me == 0 ? zero(area, N * SIZE) : filled(area, 0, 0, N * SIZE), #NAME); \
    }

#define OLD_COLLECT(NAME, SIZE, P) {                            \
    begin();                                                    \
    fill(area2, me, N * SIZE);                                  \
    shmem_barrier_all();                                        \
    F(NAME)(area, area2, N, 0, 0, n, p_sync);                   \
    ALL(ok, i, n, filled(area + i * N * SIZE, i, 0, N * SIZE)); \
    check(ok, #NAME);                                           \
    }

#define OLD_ALLTOALL(NAME, SIZE, P) {                                         \
    begin();                                                                  \
    for (int i = 0; i < n; i++) fill(area2 + i * N * SIZE, me + i, N * SIZE); \
    shmem_barrier_all();                                                      \
    F(NAME)(area, area2, N, 0, 0, n, p_sync);                                 \
    ALL(ok, i, n, filled(area + i * N * SIZE, me + i, 0, N * SIZE));          \
    check(ok, #NAME);                                                         \
    }

#define OLD_ALLTOALLS(NAME, SIZE, P) {                                        \
    begin();                                                                  \
    for (int i = 0; i < n; i++) fill(area2 + i * N * SIZE, me + i, N * SIZE); \
    shmem_barrier_all();                                                      \
    F(NAME)(area, area2, 1, 1, N, 0, 0, n, p_sync);                           \
    ALL(ok, i, n, filled(area + i * N * SIZE, me + i, 0, N * SIZE));          \
    check(ok, #NAME);                                                         \
    }

#define TO_ALL_(NAME, T, MINE, RESULT) {                       \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2; \
    T *p_wrk = dest + N;                                       \
    begin();                                                   \
    for (int i = 0; i < N; i++) source[i] = (T)(MINE);         \
    shmem_barrier_all();                                       \
    F(NAME)(dest, source, N, 0, 0, n, p_wrk, p_sync);          \
    ALL(ok, i, N, dest[i] == (T)(RESULT));                     \
    check(ok, #NAME);                                          \
    }

#define AND_TO_ALL(NAME, T, P) TO_ALL_(NAME, T, me == 0 ? 6 : 7, 6)

#define OR_TO_ALL(NAME, T, P) TO_ALL_(NAME, T, me == 0 ? 1 : 2, n > 1 ? 3 : 1)

#define XOR_TO_ALL(NAME, T, P) TO_ALL_(NAME, T, 1, n % 2)

#define MAX_TO_ALL(NAME, T, P) TO_ALL_(NAME, T, me % 50, n > 50 ? 49 : n - 1)

#define MIN_TO_ALL(NAME, T, P) TO_ALL_(NAME, T, me % 50 + 2, 2)

#define SUM_TO_ALL(NAME, T, P) TO_ALL_(NAME, T, 1, n)

#define PROD_TO_ALL(NAME, T, P) TO_ALL_(NAME, T, me == 0 ? 3 : 1, 3)

/* Point-to-point synchronization: the neighbour writes 5 to all or to the third variable */

#define WAIT_UNTIL(NAME, T, P) {                   \
    T *var = (T *)(void *)area, five = (T)5;       \
    begin();                                       \
    shmem_barrier_all();                           \
    shmem_putmem(&var[2], &five, sizeof five, to); \
    F(NAME)(&var[2], SHMEM_CMP_EQ, (T)5);          \
    check(var[2] == (T)5, #NAME);                  \
    complete();                                    \
    }

#define WAIT_UNTIL_LONG(NAME, P) WAIT_UNTIL(NAME, long, P)

#define WAIT(NAME, T, P) {                         \
    T *var = (T *)(void *)area, five = (T)5;       \
    begin();                                       \
    shmem_barrier_all();                           \
    shmem_putmem(&var[2], &five, sizeof five, to); \
    F(NAME)(&var[2], (T)0);                        \
    check(var[2] == (T)5, #NAME);                  \
    complete();                                    \
    }

#define WAIT_LONG(NAME, P) WAIT(NAME, long, P)

#define WAIT_UNTIL_ALL(NAME, T, P) {                                           \
    T *var = (T *)(void *)area, five = (T)5;                                   \
    begin();                                                                   \
    shmem_barrier_all();                                                       \
    for (int i = 0; i < N; i++) shmem_putmem(&var[i], &five, sizeof five, to); \
    F(NAME)(var, N, NULL, SHMEM_CMP_GE, (T)5);                                 \
    ALL(ok, i, N, var[i] == (T)5);                                             \
    check(ok, #NAME);                                                          \
    complete();                                                                \
    }

#define WAIT_UNTIL_ALL_VECTOR(NAME, T, P) {                                    \
    T *var = (T *)(void *)area, five = (T)5;                                   \
    begin();                                                                   \
    shmem_barrier_all();                                                       \
    T least[N] = {(T)5, (T)4, (T)3, (T)2};                                     \
    for (int i = 0; i < N; i++) shmem_putmem(&var[i], &five, sizeof five, to); \
    F(NAME)(var, N, NULL, SHMEM_CMP_GE, least);                                \
    ALL(ok, i, N, var[i] == (T)5);                                             \
    check(ok, #NAME);                                                          \
    complete();                                                                \
    }

#define TEST(NAME, T, P) {                                  \
    T *var = (T *)(void *)area, five = (T)5;                \
    begin();                                                \
    shmem_barrier_all();                                    \
    int early = F(NAME)(&var[1], SHMEM_CMP_NE, (T)0);       \
    shmem_putmem(&var[2], &five, sizeof five, to);          \
    while (!F(NAME)(&var[2], SHMEM_CMP_EQ, (T)5)) continue; \
    check(!early && var[2] == (T)5, #NAME);                 \
    complete();                                             \
    }

#define TEST_ALL(NAME, T, P) {                                                 \
    T *var = (T *)(void *)area, five = (T)5;                                   \
    begin();                                                                   \
    shmem_barrier_all();                                                       \
    for (int i = 0; i < N; i++) shmem_putmem(&var[i], &five, sizeof five, to); \
    while (!F(NAME)(var, N, NULL, SHMEM_CMP_GE, (T)5)) continue;               \
    ALL(ok, i, N, var[i] == (T)5);                                             \
    check(ok, #NAME);                                                          \
    complete();                                                                \
    }

#define TEST_ALL_VECTOR(NAME, T, P) {                                          \
    T *var = (T *)(void *)area, five = (T)5;                                   \
    begin();                                                                   \
    shmem_barrier_all();                                                       \
    T least[N] = {(T)5, (T)4, (T)3, (T)2};                                     \
    for (int i = 0; i < N; i++) shmem_putmem(&var[i], &five, sizeof five, to); \
    while (!F(NAME)(var, N, NULL, SHMEM_CMP_GE, least)) continue;              \
    ALL(ok, i, N, var[i] == (T)5);                                             \
    check(ok, #NAME);                                                          \
    complete();                                                                \
    }

/* The second variable is left out by its status; a test may have to be repeated. */

#define ANY(NAME, T, P) {                                                          \
    T *var = (T *)(void *)area, five = (T)5;                                       \
    begin();                                                                       \
    shmem_barrier_all();                                                           \
    int status[N] = {0, 1, 0, 0};                                                  \
    shmem_putmem(&var[2], &five, sizeof five, to);                                 \
    size_t which = SIZE_MAX;                                                       \
    while (which == SIZE_MAX) which = F(NAME)(var, N, status, SHMEM_CMP_EQ, (T)5); \
    check(which == 2, #NAME);                                                      \
    complete();                                                                    \
    }

#define ANY_VECTOR(NAME, T, P) {                                                     \
    T *var = (T *)(void *)area, five = (T)5;                                         \
    begin();                                                                         \
    shmem_barrier_all();                                                             \
    int status[N] = {0, 1, 0, 0};                                                    \
    T values[N] = {(T)1, (T)0, (T)5, (T)1};                                          \
    shmem_putmem(&var[2], &five, sizeof five, to);                                   \
    size_t which = SIZE_MAX;                                                         \
    while (which == SIZE_MAX) which = F(NAME)(var, N, status, SHMEM_CMP_EQ, values); \
    check(which == 2, #NAME);                                                        \
    complete();                                                                      \
    }

#define SOME(NAME, T, P) {                                                         \
    T *var = (T *)(void *)area, five = (T)5;                                       \
    begin();                                                                       \
    shmem_barrier_all();                                                           \
    int status[N] = {0, 1, 0, 0};                                                  \
    shmem_putmem(&var[2], &five, sizeof five, to);                                 \
    size_t which[N], count = 0;                                                    \
    while (count == 0) count = F(NAME)(var, N, which, status, SHMEM_CMP_EQ, (T)5); \
    check(count == 1 && which[0] == 2, #NAME);                                     \
    complete();                                                                    \
    }

#define SOME_VECTOR(NAME, T, P) {                                                    \
    T *var = (T *)(void *)area, five = (T)5;                                         \
    begin();                                                                         \
    shmem_barrier_all();                                                             \
    int status[N] = {0, 1, 0, 0};                                                    \
    T values[N] = {(T)1, (T)0, (T)5, (T)1};                                          \
    shmem_putmem(&var[2], &five, sizeof five, to);                                   \
    size_t which[N], count = 0;                                                      \
    while (count == 0) count = F(NAME)(var, N, which, status, SHMEM_CMP_EQ, values); \
    check(count == 1 && which[0] == 2, #NAME);                                       \
    complete();                                                                      \
    }
