/* Atomic memory operations of the fast path: CPU atomics at the other PE's address, atomic
 * against each other and against the program's own atomics on the same object.
 * Included by shmem/native.h only. */

/* Read-modify-write: `name(dest[, value], pe)`, with the builtin that returns the old value. */
#define SHMEMI_UNARY_(name, type, P, A, T)                                       \
    SHMEMI_DEFINE(name, void, (P type *dest, int pe), (A dest, pe), T,            \
                  __atomic_fetch_add((type *)shmemi_at(dest, pe), 1, __ATOMIC_SEQ_CST))
#define SHMEMI_UNARY_FETCH_(name, type, P, A, T)                                 \
    SHMEMI_DEFINE_VALUE(name, type, (P type *dest, int pe), (A dest, pe), T,      \
                        return __atomic_fetch_add((type *)shmemi_at(dest, pe), 1, __ATOMIC_SEQ_CST))
#define SHMEMI_UNARY_NBI_(name, type, P, A, T)                                   \
    SHMEMI_DEFINE(name, void, (P type *fetch, type *dest, int pe), (A fetch, dest, pe), T, \
                  *fetch = __atomic_fetch_add((type *)shmemi_at(dest, pe), 1, __ATOMIC_SEQ_CST))
#define SHMEMI_BINARY_(name, type, op, P, A, T)                                  \
    SHMEMI_DEFINE(name, void, (P type *dest, type value, int pe), (A dest, value, pe), T, \
                  op((type *)shmemi_at(dest, pe), value, __ATOMIC_SEQ_CST))
#define SHMEMI_BINARY_FETCH_(name, type, op, P, A, T)                            \
    SHMEMI_DEFINE_VALUE(name, type, (P type *dest, type value, int pe), (A dest, value, pe), T, \
                        return op((type *)shmemi_at(dest, pe), value, __ATOMIC_SEQ_CST))
#define SHMEMI_BINARY_NBI_(name, type, op, P, A, T)                              \
    SHMEMI_DEFINE(name, void, (P type *fetch, type *dest, type value, int pe),    \
                  (A fetch, dest, value, pe), T,                                  \
                  *fetch = op((type *)shmemi_at(dest, pe), value, __ATOMIC_SEQ_CST))

/* Loads, stores and swaps, of floating-point types too. A set orders the accesses before it
 * and a fetch those after it; both cost a plain store and load on most CPUs. */
#define SHMEMI_SET_(name, type, P, A, T)                                         \
    SHMEMI_DEFINE(name, void, (P type *dest, type value, int pe), (A dest, value, pe), T, \
                  __atomic_store((type *)shmemi_at(dest, pe), &value, __ATOMIC_RELEASE))
#define SHMEMI_FETCH_(name, type, P, A, T)                                       \
    SHMEMI_DEFINE_VALUE(name, type, (P const type *source, int pe), (A source, pe), T, \
                        type old;                                                 \
                        __atomic_load((type *)shmemi_at(source, pe), &old, __ATOMIC_ACQUIRE); \
                        return old)
#define SHMEMI_FETCH_NBI_(name, type, P, A, T)                                   \
    SHMEMI_DEFINE(name, void, (P type *fetch, const type *source, int pe), (A fetch, source, pe), T, \
                  __atomic_load((type *)shmemi_at(source, pe), fetch, __ATOMIC_ACQUIRE))
#define SHMEMI_SWAP_(name, type, P, A, T)                                        \
    SHMEMI_DEFINE_VALUE(name, type, (P type *dest, type value, int pe), (A dest, value, pe), T, \
                        type old;                                                 \
                        __atomic_exchange((type *)shmemi_at(dest, pe), &value, &old, __ATOMIC_SEQ_CST); \
                        return old)
#define SHMEMI_SWAP_NBI_(name, type, P, A, T)                                    \
    SHMEMI_DEFINE(name, void, (P type *fetch, type *dest, type value, int pe),    \
                  (A fetch, dest, value, pe), T,                                  \
                  __atomic_exchange((type *)shmemi_at(dest, pe), &value, fetch, __ATOMIC_SEQ_CST))
#define SHMEMI_CSWAP_(name, type, P, A, T)                                       \
    SHMEMI_DEFINE_VALUE(name, type, (P type *dest, type cond, type value, int pe), \
                        (A dest, cond, value, pe), T,                             \
                        __atomic_compare_exchange_n((type *)shmemi_at(dest, pe), &cond, value, 0, \
                                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
                        return cond)
#define SHMEMI_CSWAP_NBI_(name, type, P, A, T)                                   \
    SHMEMI_DEFINE(name, void, (P type *fetch, type *dest, type cond, type value, int pe), \
                  (A fetch, dest, cond, value, pe), T,                            \
                  __atomic_compare_exchange_n((type *)shmemi_at(dest, pe), &cond, value, 0, \
                                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
                  *fetch = cond)

#define SHMEMI_ATOMIC_SET(name, type) \
    SHMEMI_SET_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_SET(name, type) \
    SHMEMI_SET_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH(name, type) \
    SHMEMI_FETCH_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH(name, type) \
    SHMEMI_FETCH_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_NBI(name, type) \
    SHMEMI_FETCH_NBI_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_NBI(name, type) \
    SHMEMI_FETCH_NBI_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_SWAP(name, type) \
    SHMEMI_SWAP_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_SWAP(name, type) \
    SHMEMI_SWAP_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_SWAP_NBI(name, type) \
    SHMEMI_SWAP_NBI_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_SWAP_NBI(name, type) \
    SHMEMI_SWAP_NBI_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_COMPARE_SWAP(name, type) \
    SHMEMI_CSWAP_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_COMPARE_SWAP(name, type) \
    SHMEMI_CSWAP_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_COMPARE_SWAP_NBI(name, type) \
    SHMEMI_CSWAP_NBI_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_COMPARE_SWAP_NBI(name, type) \
    SHMEMI_CSWAP_NBI_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_INC(name, type) \
    SHMEMI_UNARY_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_INC(name, type) \
    SHMEMI_UNARY_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_INC(name, type) \
    SHMEMI_UNARY_FETCH_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_INC(name, type) \
    SHMEMI_UNARY_FETCH_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_INC_NBI(name, type) \
    SHMEMI_UNARY_NBI_(name, type, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_INC_NBI(name, type) \
    SHMEMI_UNARY_NBI_(name, type, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_ADD(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_add, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_ADD(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_add, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_ADD(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_add, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_ADD(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_add, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_ADD_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_add, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_ADD_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_add, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_AND(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_and, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_AND(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_and, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_AND(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_and, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_AND(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_and, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_AND_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_and, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_AND_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_and, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_OR(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_or, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_OR(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_or, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_OR(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_or, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_OR(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_or, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_OR_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_or, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_OR_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_or, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_XOR(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_xor, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_XOR(name, type) \
    SHMEMI_BINARY_(name, type, __atomic_fetch_xor, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_XOR(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_xor, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_XOR(name, type) \
    SHMEMI_BINARY_FETCH_(name, type, __atomic_fetch_xor, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

#define SHMEMI_ATOMIC_FETCH_XOR_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_xor, SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)
#define SHMEMI_CTX_ATOMIC_FETCH_XOR_NBI(name, type) \
    SHMEMI_BINARY_NBI_(name, type, __atomic_fetch_xor, SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)
