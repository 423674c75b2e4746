/* Atomic memory operations: the neighbour's variable holds 6, which they find, and then RESULT */

#define ATOMIC_(NAME, T, CALL, RESULT) {            \
    T *var = (T *)(void *)area, old = (T)6;         \
    begin();                                        \
    *var = (T)6;                                    \
    complete();                                     \
    CALL;                                           \
    complete();                                     \
    check(old == (T)6 && *var == (T)RESULT, #NAME); \
}

#define UPDATE_(NAME, T, ARGS, RESULT) ATOMIC_(NAME, T, F(NAME) ARGS, RESULT)
#define FETCHING_(NAME, T, ARGS, RESULT) ATOMIC_(NAME, T, old = F(NAME) ARGS, RESULT)
#define FETCHING_NBI_(NAME, T, ARGS, RESULT) ATOMIC_(NAME, T, old = (T)0; F(NAME) ARGS, RESULT)

#define ATOMIC_SET(NAME, T, C) UPDATE_(NAME, T, (C var, (T)3, to), 3)
#define ATOMIC_FETCH(NAME, T, C) FETCHING_(NAME, T, (C var, to), 6)
#define ATOMIC_FETCH_NBI(NAME, T, C) FETCHING_NBI_(NAME, T, (C &old, var, to), 6)
#define ATOMIC_SWAP(NAME, T, C) FETCHING_(NAME, T, (C var, (T)3, to), 3)
#define ATOMIC_SWAP_NBI(NAME, T, C) FETCHING_NBI_(NAME, T, (C &old, var, (T)3, to), 3)
#define ATOMIC_INC(NAME, T, C) UPDATE_(NAME, T, (C var, to), 7)
#define ATOMIC_FETCH_INC(NAME, T, C) FETCHING_(NAME, T, (C var, to), 7)
#define ATOMIC_FETCH_INC_NBI(NAME, T, C) FETCHING_NBI_(NAME, T, (C &old, var, to), 7)
#define ATOMIC_ADD(NAME, T, C) UPDATE_(NAME, T, (C var, (T)3, to), 9)
#define ATOMIC_FETCH_ADD(NAME, T, C) FETCHING_(NAME, T, (C var, (T)3, to), 9)
#define ATOMIC_FETCH_ADD_NBI(NAME, T, C) FETCHING_NBI_(NAME, T, (C &old, var, (T)3, to), 9)
#define ATOMIC_AND(NAME, T, C) UPDATE_(NAME, T, (C var, (T)3, to), 2)
#define ATOMIC_FETCH_AND(NAME, T, C) FETCHING_(NAME, T, (C var, (T)3, to), 2)
#define ATOMIC_FETCH_AND_NBI(NAME, T, C) FETCHING_NBI_(NAME, T, (C &old, var, (T)3, to), 2)
#define ATOMIC_OR(NAME, T, C) UPDATE_(NAME, T, (C var, (T)3, to), 7)
#define ATOMIC_FETCH_OR(NAME, T, C) FETCHING_(NAME, T, (C var, (T)3, to), 7)
#define ATOMIC_FETCH_OR_NBI(NAME, T, C) FETCHING_NBI_(NAME, T, (C &old, var, (T)3, to), 7)
#define ATOMIC_XOR(NAME, T, C) UPDATE_(NAME, T, (C var, (T)3, to), 5)
#define ATOMIC_FETCH_XOR(NAME, T, C) FETCHING_(NAME, T, (C var, (T)3, to), 5)
#define ATOMIC_FETCH_XOR_NBI(NAME, T, C) FETCHING_NBI_(NAME, T, (C &old, var, (T)3, to), 5)

/* The first one finds another value than it expects. */
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
