/* Point-to-point synchronization: the neighbour writes 5 to the third variable, or to all. LOOK waits or tests */

#define POINT_(NAME, T, EARLY, LOOK) {             \
    T *var = (T *)(void *)area, five = (T)5;       \
    begin();                                       \
    shmem_barrier_all();                           \
    int early = EARLY;                             \
    shmem_putmem(&var[2], &five, sizeof five, to); \
    LOOK;                                          \
    check(!early && var[2] == (T)5, #NAME);        \
    complete();                                    \
}

#define WAIT_UNTIL(NAME, T, C) POINT_(NAME, T, 0, F(NAME)(&var[2], SHMEM_CMP_EQ, (T)5))
#define WAIT_UNTIL_LONG(NAME, C) WAIT_UNTIL(NAME, long, C)
#define WAIT(NAME, T, C) POINT_(NAME, T, 0, F(NAME)(&var[2], (T)0))
#define WAIT_LONG(NAME, C) WAIT(NAME, long, C)
#define TEST(NAME, T, C) \
    POINT_(NAME, T, F(NAME)(&var[1], SHMEM_CMP_NE, (T)0), while (!F(NAME)(&var[2], SHMEM_CMP_EQ, (T)5)) continue)

#define ALL_(NAME, T, VALUES, LOOK) {                                          \
    T *var = (T *)(void *)area, five = (T)5;                                   \
    begin();                                                                   \
    shmem_barrier_all();                                                       \
    VALUES                                                                     \
    for (int i = 0; i < N; i++) shmem_putmem(&var[i], &five, sizeof five, to); \
    LOOK;                                                                      \
    ALL(ok, i, N, var[i] == (T)5);                                             \
    check(ok, #NAME);                                                          \
    complete();                                                                \
}

#define LEAST(T) T least[N] = {(T)5, (T)4, (T)3, (T)2};

#define WAIT_UNTIL_ALL(NAME, T, C) ALL_(NAME, T, , F(NAME)(var, N, NULL, SHMEM_CMP_GE, (T)5))
#define WAIT_UNTIL_ALL_VECTOR(NAME, T, C) ALL_(NAME, T, LEAST(T), F(NAME)(var, N, NULL, SHMEM_CMP_GE, least))
#define TEST_ALL(NAME, T, C) ALL_(NAME, T, , while (!F(NAME)(var, N, NULL, SHMEM_CMP_GE, (T)5)) continue)
#define TEST_ALL_VECTOR(NAME, T, C) \
    ALL_(NAME, T, LEAST(T), while (!F(NAME)(var, N, NULL, SHMEM_CMP_GE, least)) continue)

/* The second variable is left out by its status; a test may have to be repeated. */

#define ANY_(NAME, T, VALUES, VALUE) {                                               \
    T *var = (T *)(void *)area, five = (T)5;                                         \
    begin();                                                                         \
    shmem_barrier_all();                                                             \
    int status[N] = {0, 1, 0, 0};                                                    \
    VALUES                                                                           \
    shmem_putmem(&var[2], &five, sizeof five, to);                                   \
    size_t which = SIZE_MAX;                                                         \
    while (which == SIZE_MAX) which = F(NAME)(var, N, status, SHMEM_CMP_EQ, VALUE);  \
    check(which == 2, #NAME);                                                        \
    complete();                                                                      \
}

#define SOME_(NAME, T, VALUES, VALUE) {                                              \
    T *var = (T *)(void *)area, five = (T)5;                                         \
    begin();                                                                         \
    shmem_barrier_all();                                                             \
    int status[N] = {0, 1, 0, 0};                                                    \
    VALUES                                                                           \
    shmem_putmem(&var[2], &five, sizeof five, to);                                   \
    size_t which[N], count = 0;                                                      \
    while (count == 0) count = F(NAME)(var, N, which, status, SHMEM_CMP_EQ, VALUE);  \
    check(count == 1 && which[0] == 2, #NAME);                                       \
    complete();                                                                      \
}

#define THIRD_IS_5(T) T values[N] = {(T)1, (T)0, (T)5, (T)1};

#define ANY(NAME, T, C) ANY_(NAME, T, , (T)5)
#define ANY_VECTOR(NAME, T, C) ANY_(NAME, T, THIRD_IS_5(T), values)
#define SOME(NAME, T, C) SOME_(NAME, T, , (T)5)
#define SOME_VECTOR(NAME, T, C) SOME_(NAME, T, THIRD_IS_5(T), values)
