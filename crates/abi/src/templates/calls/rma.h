/* Remote memory access */

#define PUT(NAME, T, C) {                          \
    T source[N], *dest = (T *)(void *)area;        \
    FILL(T, source, me);                           \
    begin();                                       \
    F(NAME)(C dest, source, N, to);                \
    F(NAME)(C dest + N, source + 2, 1, to);        \
    complete();                                    \
    ALL(ok, i, N, dest[i] == OF(T, from, i));      \
    check(ok && dest[N] == OF(T, from, 2), #NAME); \
}

#define PUT_SIZE(NAME, SIZE, C) {                                                      \
    unsigned char source[N * SIZE];                                                    \
    fill(source, me, N * SIZE);                                                        \
    begin();                                                                           \
    F(NAME)(C area, source, N, to);                                                    \
    F(NAME)(C area + N * SIZE, source + SIZE, 1, to);                                  \
    complete();                                                                        \
    check(filled(area, from, 0, N * SIZE) && filled(area + N * SIZE, from, SIZE, SIZE) \
              && zero(area + (N + 1) * SIZE, SIZE), #NAME);                            \
}

#define P(NAME, T, C) {                                                            \
    T *dest = (T *)(void *)area;                                                   \
    begin();                                                                       \
    F(NAME)(C dest + 1, OF(T, me, 1), to);                                         \
    complete();                                                                    \
    check(dest[0] == (T)0 && dest[1] == OF(T, from, 1) && dest[2] == (T)0, #NAME); \
}

#define GET(NAME, T, C) {                        \
    T dest[N + 1], *source = (T *)(void *)area;  \
    begin();                                     \
    FILL(T, source, me);                         \
    complete();                                  \
    F(NAME)(C dest, source, N, to);              \
    F(NAME)(C dest + N, source + 2, 1, to);      \
    complete();                                  \
    ALL(ok, i, N, dest[i] == OF(T, to, i));      \
    check(ok && dest[N] == OF(T, to, 2), #NAME); \
}

#define GET_SIZE(NAME, SIZE, C) {                                                           \
    unsigned char dest[(N + 1) * SIZE];                                                     \
    begin();                                                                                \
    fill(area, me, N * SIZE);                                                               \
    complete();                                                                             \
    F(NAME)(C dest, area, N, to);                                                           \
    F(NAME)(C dest + N * SIZE, area + SIZE, 1, to);                                         \
    complete();                                                                             \
    check(filled(dest, to, 0, N * SIZE) && filled(dest + N * SIZE, to, SIZE, SIZE), #NAME); \
}

#define G(NAME, T, C) {                                                                  \
    T *source = (T *)(void *)area, value;                                                \
    _Static_assert(sizeof(F(NAME)(C source, 0)) == sizeof(T), "the type of the object"); \
    begin();                                                                             \
    FILL(T, source, me);                                                                 \
    complete();                                                                          \
    value = F(NAME)(C source + 1, to);                                                   \
    check(value == OF(T, to, 1), #NAME);                                                 \
}

#define IPUT(NAME, T, C) {                                                   \
    T source[N], *dest = (T *)(void *)area;                                  \
    FILL(T, source, me);                                                     \
    begin();                                                                 \
    F(NAME)(C dest, source, 2, 1, N, to);                                    \
    complete();                                                              \
    ALL(ok, i, N, dest[2 * i] == OF(T, from, i) && dest[2 * i + 1] == (T)0); \
    check(ok, #NAME);                                                        \
}

#define IGET(NAME, T, C) {                                    \
    T dest[N], *source = (T *)(void *)area;                   \
    begin();                                                  \
    for (int i = 0; i < N; i++) source[2 * i] = OF(T, me, i); \
    complete();                                               \
    F(NAME)(C dest, source, 1, 2, N, to);                     \
    ALL(ok, i, N, dest[i] == OF(T, to, i));                   \
    check(ok, #NAME);                                         \
}

#define IPUT_SIZE(NAME, SIZE, C) {                                          \
    unsigned char source[N * SIZE];                                         \
    fill(source, me, N * SIZE);                                             \
    begin();                                                                \
    F(NAME)(C area, source, 2, 1, N, to);                                   \
    complete();                                                             \
    ALL(ok, i, N, filled(area + 2 * i * SIZE, from, (size_t)i * SIZE, SIZE) \
                  && zero(area + (2 * i + 1) * SIZE, SIZE));                \
    check(ok, #NAME);                                                       \
}

#define IGET_SIZE(NAME, SIZE, C) {                                          \
    unsigned char dest[N * SIZE];                                           \
    begin();                                                                \
    fill(area, me, 2 * N * SIZE);                                           \
    complete();                                                             \
    F(NAME)(C dest, area, 1, 2, N, to);                                     \
    ALL(ok, i, N, filled(dest + i * SIZE, to, 2 * (size_t)i * SIZE, SIZE)); \
    check(ok, #NAME);                                                       \
}

/* Two blocks of two elements, three apart on one side and two on the other. */

#define IBPUT(NAME, T, C) {                                   \
    T source[N], *dest = (T *)(void *)area;                   \
    FILL(T, source, me);                                      \
    begin();                                                  \
    F(NAME)(C dest, source, 3, 2, 2, 2, to);                  \
    complete();                                               \
    ALL(ok, i, N, dest[i / 2 * 3 + i % 2] == OF(T, from, i)); \
    check(ok && dest[2] == (T)0, #NAME);                      \
}

#define IBGET(NAME, T, C) {                                               \
    T dest[N], *source = (T *)(void *)area;                               \
    begin();                                                              \
    for (int i = 0; i < N; i++) source[i / 2 * 3 + i % 2] = OF(T, me, i); \
    complete();                                                           \
    F(NAME)(C dest, source, 2, 3, 2, 2, to);                              \
    ALL(ok, i, N, dest[i] == OF(T, to, i));                               \
    check(ok, #NAME);                                                     \
}

#define IBPUT_SIZE(NAME, SIZE, C) {                                         \
    unsigned char source[N * SIZE];                                         \
    fill(source, me, N * SIZE);                                             \
    begin();                                                                \
    F(NAME)(C area, source, 3, 2, 2, 2, to);                                \
    complete();                                                             \
    check(filled(area, from, 0, 2 * SIZE) && zero(area + 2 * SIZE, SIZE)    \
              && filled(area + 3 * SIZE, from, 2 * SIZE, 2 * SIZE), #NAME); \
}

#define IBGET_SIZE(NAME, SIZE, C) {                                                                \
    unsigned char dest[N * SIZE];                                                                  \
    begin();                                                                                       \
    fill(area, me, 2 * N * SIZE);                                                                  \
    complete();                                                                                    \
    F(NAME)(C dest, area, 2, 3, 2, 2, to);                                                         \
    check(filled(dest, to, 0, 2 * SIZE) && filled(dest + 2 * SIZE, to, 3 * SIZE, 2 * SIZE), #NAME); \
}
