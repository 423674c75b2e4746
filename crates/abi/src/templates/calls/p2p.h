/* Point-to-point synchronization: the neighbour writes 5 to all or to the third variable */

#define WAIT_UNTIL(NAME, T, C) {                   \
    T *var = (T *)(void *)area, five = (T)5;       \
    begin();                                       \
    shmem_barrier_all();                           \
    shmem_putmem(&var[2], &five, sizeof five, to); \
    F(NAME)(&var[2], SHMEM_CMP_EQ, (T)5);          \
    check(var[2] == (T)5, #NAME);                  \
    complete();                                    \
}

#define WAIT_UNTIL_LONG(NAME, C) WAIT_UNTIL(NAME, long, C)

#define WAIT(NAME, T, C) {                         \
    T *var = (T *)(void *)area, five = (T)5;       \
    begin();                                       \
    shmem_barrier_all();                           \
    shmem_putmem(&var[2], &five, sizeof five, to); \
    F(NAME)(&var[2], (T)0);                        \
    check(var[2] == (T)5, #NAME);                  \
    complete();                                    \
}

#define WAIT_LONG(NAME, C) WAIT(NAME, long, C)

#define WAIT_UNTIL_ALL(NAME, T, C) {                                           \
    T *var = (T *)(void *)area, five = (T)5;                                   \
    begin();                                                                   \
    shmem_barrier_all();                                                       \
    for (int i = 0; i < N; i++) shmem_putmem(&var[i], &five, sizeof five, to); \
    F(NAME)(var, N, NULL, SHMEM_CMP_GE, (T)5);                                 \
    ALL(ok, i, N, var[i] == (T)5);                                             \
    check(ok, #NAME);                                                          \
    complete();                                                                \
}

#define WAIT_UNTIL_ALL_VECTOR(NAME, T, C) {                                    \
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

#define TEST(NAME, T, C) {                                  \
    T *var = (T *)(void *)area, five = (T)5;                \
    begin();                                                \
    shmem_barrier_all();                                    \
    int early = F(NAME)(&var[1], SHMEM_CMP_NE, (T)0);       \
    shmem_putmem(&var[2], &five, sizeof five, to);          \
    while (!F(NAME)(&var[2], SHMEM_CMP_EQ, (T)5)) continue; \
    check(!early && var[2] == (T)5, #NAME);                 \
    complete();                                             \
}

#define TEST_ALL(NAME, T, C) {                                                 \
    T *var = (T *)(void *)area, five = (T)5;                                   \
    begin();                                                                   \
    shmem_barrier_all();                                                       \
    for (int i = 0; i < N; i++) shmem_putmem(&var[i], &five, sizeof five, to); \
    while (!F(NAME)(var, N, NULL, SHMEM_CMP_GE, (T)5)) continue;               \
    ALL(ok, i, N, var[i] == (T)5);                                             \
    check(ok, #NAME);                                                          \
    complete();                                                                \
}

#define TEST_ALL_VECTOR(NAME, T, C) {                                          \
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

#define ANY(NAME, T, C) {                                                          \
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

#define ANY_VECTOR(NAME, T, C) {                                                     \
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

#define SOME(NAME, T, C) {                                                         \
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

#define SOME_VECTOR(NAME, T, C) {                                                    \
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
