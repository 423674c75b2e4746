/* Collectives on teams */

#define CALL(NAME, C) { \
    F(NAME)();          \
    check(1, #NAME);    \
}

/* A job that nothing has been added to has no group. */
#define GROUP_REDUCE(NAME, T, C) {                                                          \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2;                              \
    check(F(NAME)(shmemx_group_parents(), dest, source, N) == -1, #NAME);                   \
}

#define TEAM_SYNC(NAME, C) {                      \
    check(F(NAME)(SHMEM_TEAM_WORLD) == 0, #NAME); \
}

#define BROADCAST(NAME, T, C) {                                 \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2;  \
    begin();                                                    \
    FILL(T, source, me);                                        \
    shmem_barrier_all();                                        \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, N, n - 1); \
    ALL(ok, i, N, dest[i] == OF(T, n - 1, i));                  \
    check(ok && rc == 0, #NAME);                                \
}

#define BROADCAST_SIZE(NAME, SIZE, C) {                    \
    begin();                                               \
    fill(area2, me, N * SIZE);                             \
    shmem_barrier_all();                                   \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, area, area2, N, 0); \
    check(rc == 0 && filled(area, 0, 0, N * SIZE), #NAME); \
}

#define COLLECT(NAME, T, C) {                                  \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2; \
    begin();                                                   \
    FILL(T, source, me);                                       \
    shmem_barrier_all();                                       \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, N);       \
    ALL(ok, i, n * N, dest[i] == OF(T, i / N, i % N));         \
    check(ok && rc == 0, #NAME);                               \
}

#define COLLECT_SIZE(NAME, SIZE, C) {                           \
    begin();                                                    \
    fill(area2, me, N * SIZE);                                  \
    shmem_barrier_all();                                        \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, area, area2, N);         \
    ALL(ok, i, n, filled(area + i * N * SIZE, i, 0, N * SIZE)); \
    check(ok && rc == 0, #NAME);                                \
}

#define ALLTOALL(NAME, T, C) {                                            \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2;            \
    begin();                                                              \
    for (int i = 0; i < n * N; i++) source[i] = OF(T, me + i / N, i % N); \
    shmem_barrier_all();                                                  \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, N);                  \
    ALL(ok, i, n * N, dest[i] == OF(T, me + i / N, i % N));               \
    check(ok && rc == 0, #NAME);                                          \
}

#define ALLTOALL_SIZE(NAME, SIZE, C) {                                        \
    begin();                                                                  \
    for (int i = 0; i < n; i++) fill(area2 + i * N * SIZE, me + i, N * SIZE); \
    shmem_barrier_all();                                                      \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, area, area2, N);                       \
    ALL(ok, i, n, filled(area + i * N * SIZE, me + i, 0, N * SIZE));          \
    check(ok && rc == 0, #NAME);                                              \
}

#define ALLTOALLS(NAME, T, C) {                                           \
    T *dest = (T *)(void *)area, *source = (T *)(void *)area2;            \
    begin();                                                              \
    for (int i = 0; i < n * N; i++) source[i] = OF(T, me + i / N, i % N); \
    shmem_barrier_all();                                                  \
    int rc = F(NAME)(SHMEM_TEAM_WORLD, dest, source, 2, 1, N);            \
    ALL(ok, i, n * N, dest[2 * i] == OF(T, me + i / N, i % N));           \
    check(ok && rc == 0, #NAME);                                          \
}

#define ALLTOALLS_SIZE(NAME, SIZE, C) {                                       \
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

#define AND_REDUCE(NAME, T, C) REDUCE_(NAME, T, me == 0 ? 6 : 7, 6)

#define OR_REDUCE(NAME, T, C) REDUCE_(NAME, T, me == 0 ? 1 : 2, n > 1 ? 3 : 1)

#define XOR_REDUCE(NAME, T, C) REDUCE_(NAME, T, 1, n % 2)

#define MAX_REDUCE(NAME, T, C) REDUCE_(NAME, T, me % 50, n > 50 ? 49 : n - 1)

#define MIN_REDUCE(NAME, T, C) REDUCE_(NAME, T, me % 50 + 2, 2)

#define SUM_REDUCE(NAME, T, C) REDUCE_(NAME, T, 1, n)

#define PROD_REDUCE(NAME, T, C) REDUCE_(NAME, T, me == 0 ? 3 : 1, 3)

#define INSCAN(NAME, T, C) REDUCE_(NAME, T, 1, me + 1)
#define EXSCAN(NAME, T, C) REDUCE_(NAME, T, 1, me)

/* Collectives on active sets */

#define OLD_BARRIER(NAME, C) { \
    begin();                   \
    F(NAME)(0, 0, n, p_sync);  \
    check(1, #NAME);           \
}

#define OLD_BROADCAST(NAME, SIZE, C) {                                           \
    begin();                                                                     \
    fill(area2, me, N * SIZE);                                                   \
    shmem_barrier_all();                                                         \
    F(NAME)(area, area2, N, 0, 0, 0, n, p_sync);                                 \
    check(me == 0 ? zero(area, N * SIZE) : filled(area, 0, 0, N * SIZE), #NAME); \
}

#define OLD_COLLECT(NAME, SIZE, C) {                            \
    begin();                                                    \
    fill(area2, me, N * SIZE);                                  \
    shmem_barrier_all();                                        \
    F(NAME)(area, area2, N, 0, 0, n, p_sync);                   \
    ALL(ok, i, n, filled(area + i * N * SIZE, i, 0, N * SIZE)); \
    check(ok, #NAME);                                           \
}

#define OLD_ALLTOALL(NAME, SIZE, C) {                                         \
    begin();                                                                  \
    for (int i = 0; i < n; i++) fill(area2 + i * N * SIZE, me + i, N * SIZE); \
    shmem_barrier_all();                                                      \
    F(NAME)(area, area2, N, 0, 0, n, p_sync);                                 \
    ALL(ok, i, n, filled(area + i * N * SIZE, me + i, 0, N * SIZE));          \
    check(ok, #NAME);                                                         \
}

#define OLD_ALLTOALLS(NAME, SIZE, C) {                                        \
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

#define AND_TO_ALL(NAME, T, C) TO_ALL_(NAME, T, me == 0 ? 6 : 7, 6)

#define OR_TO_ALL(NAME, T, C) TO_ALL_(NAME, T, me == 0 ? 1 : 2, n > 1 ? 3 : 1)

#define XOR_TO_ALL(NAME, T, C) TO_ALL_(NAME, T, 1, n % 2)

#define MAX_TO_ALL(NAME, T, C) TO_ALL_(NAME, T, me % 50, n > 50 ? 49 : n - 1)

#define MIN_TO_ALL(NAME, T, C) TO_ALL_(NAME, T, me % 50 + 2, 2)

#define SUM_TO_ALL(NAME, T, C) TO_ALL_(NAME, T, 1, n)

#define PROD_TO_ALL(NAME, T, C) TO_ALL_(NAME, T, me == 0 ? 3 : 1, 3)
