/* Atomic memory operations: the neighbour's variable holds 6 */

#define ATOMIC_SET(NAME, T, C) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(C var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)3, #NAME); \
}

#define ATOMIC_FETCH(NAME, T, C) {             \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = (T)0; old = F(NAME)(C var, to);      \
    complete();                                \
    check(old == (T)6 && *var == (T)6, #NAME); \
}

#define ATOMIC_FETCH_NBI(NAME, T, C) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = (T)0; F(NAME)(C &old, var, to);      \
    complete();                                \
    check(old == (T)6 && *var == (T)6, #NAME); \
}

#define ATOMIC_SWAP(NAME, T, C) {              \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(C var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)3, #NAME); \
}

#define ATOMIC_SWAP_NBI(NAME, T, C) {           \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(C &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)3, #NAME);  \
}

#define ATOMIC_COMPARE_SWAP(NAME, T, C) {                       \
    T *var = (T *)(void *)area, other, old;                     \
    begin();                                                    \
    *var = (T)6;                                                \
    complete();                                                 \
    other = F(NAME)(C var, (T)5, (T)9, to);                     \
    old = F(NAME)(C var, (T)6, (T)3, to);                       \
    complete();                                                 \
    check(other == (T)6 && old == (T)6 && *var == (T)3, #NAME); \
}

#define ATOMIC_COMPARE_SWAP_NBI(NAME, T, C) {                   \
    T *var = (T *)(void *)area, other = (T)0, old = (T)0;       \
    begin();                                                    \
    *var = (T)6;                                                \
    complete();                                                 \
    F(NAME)(C &other, var, (T)5, (T)9, to);                     \
    F(NAME)(C &old, var, (T)6, (T)3, to);                       \
    complete();                                                 \
    check(other == (T)6 && old == (T)6 && *var == (T)3, #NAME); \
}

#define ATOMIC_INC(NAME, T, C) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(C var, to);                        \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
}

#define ATOMIC_FETCH_INC(NAME, T, C) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(C var, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
}

#define ATOMIC_FETCH_INC_NBI(NAME, T, C) {     \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = (T)0; F(NAME)(C &old, var, to);      \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
}

#define ATOMIC_ADD(NAME, T, C) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(C var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)9, #NAME); \
}

#define ATOMIC_FETCH_ADD(NAME, T, C) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(C var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)9, #NAME); \
}

#define ATOMIC_FETCH_ADD_NBI(NAME, T, C) {      \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(C &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)9, #NAME);  \
}

#define ATOMIC_AND(NAME, T, C) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(C var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)2, #NAME); \
}

#define ATOMIC_FETCH_AND(NAME, T, C) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(C var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)2, #NAME); \
}

#define ATOMIC_FETCH_AND_NBI(NAME, T, C) {      \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(C &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)2, #NAME);  \
}

#define ATOMIC_OR(NAME, T, C) {                \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(C var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
}

#define ATOMIC_FETCH_OR(NAME, T, C) {          \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(C var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)7, #NAME); \
}

#define ATOMIC_FETCH_OR_NBI(NAME, T, C) {       \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(C &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)7, #NAME);  \
}

#define ATOMIC_XOR(NAME, T, C) {               \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    F(NAME)(C var, (T)3, to);                  \
    complete();                                \
    check(old == (T)6 && *var == (T)5, #NAME); \
}

#define ATOMIC_FETCH_XOR(NAME, T, C) {         \
    T *var = (T *)(void *)area, old = (T)6;    \
    begin();                                   \
    *var = (T)6;                               \
    complete();                                \
    old = F(NAME)(C var, (T)3, to);            \
    complete();                                \
    check(old == (T)6 && *var == (T)5, #NAME); \
}

#define ATOMIC_FETCH_XOR_NBI(NAME, T, C) {      \
    T *var = (T *)(void *)area, old = (T)6;     \
    begin();                                    \
    *var = (T)6;                                \
    complete();                                 \
    old = (T)0; F(NAME)(C &old, var, (T)3, to); \
    complete();                                 \
    check(old == (T)6 && *var == (T)5, #NAME);  \
}
