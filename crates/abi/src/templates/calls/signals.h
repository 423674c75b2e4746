/* Signals */

#define PUT_SIGNAL(NAME, T, C) {                                      \
    T source[N], *dest = (T *)(void *)area;                           \
    FILL(T, source, me);                                              \
    begin();                                                          \
    shmem_barrier_all();                                              \
    F(NAME)(C dest, source, N, signal_word, 5, SHMEM_SIGNAL_SET, to); \
    shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, 5);            \
    ALL(ok, i, N, dest[i] == OF(T, from, i));                         \
    complete();                                                       \
    F(NAME)(C dest, source, 0, signal_word, 2, SHMEM_SIGNAL_ADD, to); \
    shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, 7);            \
    check(ok, #NAME);                                                 \
    complete();                                                       \
}

#define PUT_SIGNAL_SIZE(NAME, SIZE, C) {                              \
    unsigned char source[N * SIZE];                                   \
    fill(source, me, N * SIZE);                                       \
    begin();                                                          \
    shmem_barrier_all();                                              \
    F(NAME)(C area, source, N, signal_word, 5, SHMEM_SIGNAL_SET, to); \
    shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, 5);            \
    check(filled(area, from, 0, N * SIZE), #NAME);                    \
    complete();                                                       \
}

#define SIGNAL_SET(NAME, C) {        \
    begin();                         \
    *signal_word = 1;                \
    shmem_barrier_all();             \
    F(NAME)(C signal_word, 5, to);   \
    complete();                      \
    check(*signal_word == 5, #NAME); \
}

#define SIGNAL_ADD(NAME, C) {        \
    begin();                         \
    *signal_word = 1;                \
    shmem_barrier_all();             \
    F(NAME)(C signal_word, 5, to);   \
    complete();                      \
    check(*signal_word == 6, #NAME); \
}

#define SIGNAL_FETCH(NAME, C) {              \
    begin();                                 \
    shmem_signal_set(signal_word, 8, me);    \
    check(F(NAME)(signal_word) == 8, #NAME); \
}

#define SIGNAL_WAIT_UNTIL(NAME, C) {                          \
    begin();                                                  \
    shmem_barrier_all();                                      \
    shmem_signal_set(signal_word, 8, to);                     \
    check(F(NAME)(signal_word, SHMEM_CMP_GT, 3) == 8, #NAME); \
    complete();                                               \
}
