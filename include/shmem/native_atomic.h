/* Atomic memory operations of the fast path: CPU atomics at the other PE's address, atomic
 * against each other and against the program's own atomics on the same object.
 * Included by shmem/native.h only.
 *
 * SHMEMI_DEFINE_ATOMIC_ADD(long, long) defines the typed operation shmemi_add_long;
 * SHMEMI_ATOMIC_ADD and SHMEMI_CTX_ATOMIC_ADD define routines that call it. */

/* Typed operations that count as atomic ones. */
#define SHMEMI_ATOMIC_VOID(type, operation, params, types, args, fast)                          \
    SHMEMI_TYPED_VOID(operation, params, types, args,                                           \
                      SHMEMI_COUNTED(ATOMIC, sizeof(type), pe); fast)
#define SHMEMI_ATOMIC_VALUE(operation, type, params, types, args, fast)                         \
    SHMEMI_TYPED_VALUE(operation, type, params, types, args,                                    \
                       SHMEMI_COUNTED(ATOMIC, sizeof(type), pe); { fast; })

/* Loads, stores and swaps, of floating-point types too. A set orders the accesses before it
 * and a fetch those after it; both cost a plain store and load on most CPUs. */

#define SHMEMI_DEFINE_ATOMIC_SET(name, type)                                                    \
    SHMEMI_ATOMIC_VOID(type, shmemi_set_##name, (type *dest, type value, int pe),                      \
        (type *, type, int), (dest, value, pe),                                                 \
        __atomic_store((type *)shmemi_at(dest, pe), &value, __ATOMIC_RELEASE))
#define SHMEMI_ATOMIC_SET(routine, name, type) \
    { shmemi_set_##name(0, dest, value, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_SET(routine, name, type) \
    { shmemi_set_##name(ctx, dest, value, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_FETCH(name, type)                                                  \
    SHMEMI_ATOMIC_VALUE(shmemi_fetch_##name, type, (const type *source, int pe),                 \
        (const type *, int), (source, pe),                                                      \
        type old;                                                                               \
        __atomic_load((type *)shmemi_at(source, pe), &old, __ATOMIC_ACQUIRE);                   \
        return old)
#define SHMEMI_ATOMIC_FETCH(routine, name, type) \
    { return shmemi_fetch_##name(0, source, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_FETCH(routine, name, type) \
    { return shmemi_fetch_##name(ctx, source, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_FETCH_NBI(name, type)                                              \
    SHMEMI_ATOMIC_VOID(type, shmemi_fetch_nbi_##name, (type *fetch, const type *source, int pe),       \
        (type *, const type *, int), (fetch, source, pe),                                       \
        __atomic_load((type *)shmemi_at(source, pe), fetch, __ATOMIC_ACQUIRE))
#define SHMEMI_ATOMIC_FETCH_NBI(routine, name, type) \
    { shmemi_fetch_nbi_##name(0, fetch, source, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_FETCH_NBI(routine, name, type) \
    { shmemi_fetch_nbi_##name(ctx, fetch, source, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_SWAP(name, type)                                                   \
    SHMEMI_ATOMIC_VALUE(shmemi_swap_##name, type, (type *dest, type value, int pe),              \
        (type *, type, int), (dest, value, pe),                                                 \
        type old;                                                                               \
        __atomic_exchange((type *)shmemi_at(dest, pe), &value, &old, __ATOMIC_SEQ_CST);         \
        SHMEMI_COMPLETE_ATOMIC();                                                               \
        return old)
#define SHMEMI_ATOMIC_SWAP(routine, name, type) \
    { return shmemi_swap_##name(0, dest, value, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_SWAP(routine, name, type) \
    { return shmemi_swap_##name(ctx, dest, value, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_SWAP_NBI(name, type)                                               \
    SHMEMI_ATOMIC_VOID(type, shmemi_swap_nbi_##name, (type *fetch, type *dest, type value, int pe),    \
        (type *, type *, type, int), (fetch, dest, value, pe),                                  \
        __atomic_exchange((type *)shmemi_at(dest, pe), &value, fetch, __ATOMIC_SEQ_CST))
#define SHMEMI_ATOMIC_SWAP_NBI(routine, name, type) \
    { shmemi_swap_nbi_##name(0, fetch, dest, value, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_SWAP_NBI(routine, name, type) \
    { shmemi_swap_nbi_##name(ctx, fetch, dest, value, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_COMPARE_SWAP(name, type)                                           \
    SHMEMI_ATOMIC_VALUE(shmemi_compare_swap_##name, type, (type *dest, type cond, type value, int pe),\
        (type *, type, type, int), (dest, cond, value, pe),                                     \
        __atomic_compare_exchange_n((type *)shmemi_at(dest, pe), &cond, value, 0,               \
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                        \
        SHMEMI_COMPLETE_ATOMIC();                                                               \
        return cond)
#define SHMEMI_ATOMIC_COMPARE_SWAP(routine, name, type) \
    { return shmemi_compare_swap_##name(0, dest, cond, value, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_COMPARE_SWAP(routine, name, type) \
    { return shmemi_compare_swap_##name(ctx, dest, cond, value, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_COMPARE_SWAP_NBI(name, type)                                       \
    SHMEMI_ATOMIC_VOID(type, shmemi_compare_swap_nbi_##name, (type *fetch, type *dest, type cond, type value, int pe),\
        (type *, type *, type, type, int), (fetch, dest, cond, value, pe),                      \
        __atomic_compare_exchange_n((type *)shmemi_at(dest, pe), &cond, value, 0,               \
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                        \
        *fetch = cond)
#define SHMEMI_ATOMIC_COMPARE_SWAP_NBI(routine, name, type) \
    { shmemi_compare_swap_nbi_##name(0, fetch, dest, cond, value, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_COMPARE_SWAP_NBI(routine, name, type) \
    { shmemi_compare_swap_nbi_##name(ctx, fetch, dest, cond, value, pe, 0, routine); }

/* Arithmetic and bits: the builtins return the old value. */

#if defined(__x86_64__) || defined(__ARM_FEATURE_ATOMICS)
#define SHMEMI_RETURN_COMPLETE(type, operation) return operation
#else
#define SHMEMI_RETURN_COMPLETE(type, operation)                                                 \
    const type old = operation;                                                                 \
    SHMEMI_COMPLETE_ATOMIC();                                                                   \
    return old
#endif

#define SHMEMI_DEFINE_ATOMIC_INC(name, type)                                                    \
    SHMEMI_ATOMIC_VOID(type, shmemi_inc_##name, (type *dest, int pe),                                  \
        (type *, int), (dest, pe),                                                              \
        __atomic_fetch_add((type *)shmemi_at(dest, pe), 1, __ATOMIC_SEQ_CST))
#define SHMEMI_ATOMIC_INC(routine, name, type) { shmemi_inc_##name(0, dest, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_INC(routine, name, type) { shmemi_inc_##name(ctx, dest, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_FETCH_INC(name, type)                                              \
    SHMEMI_ATOMIC_VALUE(shmemi_fetch_inc_##name, type, (type *dest, int pe),                     \
        (type *, int), (dest, pe),                                                              \
        SHMEMI_RETURN_COMPLETE(type, __atomic_fetch_add((type *)shmemi_at(dest, pe), 1, __ATOMIC_SEQ_CST)))
#define SHMEMI_ATOMIC_FETCH_INC(routine, name, type) \
    { return shmemi_fetch_inc_##name(0, dest, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_FETCH_INC(routine, name, type) \
    { return shmemi_fetch_inc_##name(ctx, dest, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_FETCH_INC_NBI(name, type)                                          \
    SHMEMI_ATOMIC_VOID(type, shmemi_fetch_inc_nbi_##name, (type *fetch, type *dest, int pe),           \
        (type *, type *, int), (fetch, dest, pe),                                               \
        *fetch = __atomic_fetch_add((type *)shmemi_at(dest, pe), 1, __ATOMIC_SEQ_CST))
#define SHMEMI_ATOMIC_FETCH_INC_NBI(routine, name, type) \
    { shmemi_fetch_inc_nbi_##name(0, fetch, dest, pe, routine, 0); }
#define SHMEMI_CTX_ATOMIC_FETCH_INC_NBI(routine, name, type) \
    { shmemi_fetch_inc_nbi_##name(ctx, fetch, dest, pe, 0, routine); }

/* Updates by a value, of which `builtin` returns the old one: without a result, with it, and with it in `fetch`. */
#define SHMEMI_DEFINE_UPDATE(operation, type, builtin)                                          \
    SHMEMI_ATOMIC_VOID(type, operation, (type *dest, type value, int pe),                       \
        (type *, type, int), (dest, value, pe),                                                 \
        builtin((type *)shmemi_at(dest, pe), value, __ATOMIC_SEQ_CST))
#define SHMEMI_DEFINE_FETCH_UPDATE(operation, type, builtin)                                    \
    SHMEMI_ATOMIC_VALUE(operation, type, (type *dest, type value, int pe),                      \
        (type *, type, int), (dest, value, pe),                                                 \
        SHMEMI_RETURN_COMPLETE(type, builtin((type *)shmemi_at(dest, pe), value, __ATOMIC_SEQ_CST)))
#define SHMEMI_DEFINE_UPDATE_NBI(operation, type, builtin)                                \
    SHMEMI_ATOMIC_VOID(type, operation, (type *fetch, type *dest, type value, int pe),          \
        (type *, type *, type, int), (fetch, dest, value, pe),                                  \
        *fetch = builtin((type *)shmemi_at(dest, pe), value, __ATOMIC_SEQ_CST))
#define SHMEMI_UPDATE(operation, routine) { operation(0, dest, value, pe, routine, 0); }
#define SHMEMI_CTX_UPDATE(operation, routine) { operation(ctx, dest, value, pe, 0, routine); }
#define SHMEMI_FETCH_UPDATE(operation, routine) { return operation(0, dest, value, pe, routine, 0); }
#define SHMEMI_CTX_FETCH_UPDATE(operation, routine) { return operation(ctx, dest, value, pe, 0, routine); }
#define SHMEMI_UPDATE_NBI(operation, routine) { operation(0, fetch, dest, value, pe, routine, 0); }
#define SHMEMI_CTX_UPDATE_NBI(operation, routine) { operation(ctx, fetch, dest, value, pe, 0, routine); }

#define SHMEMI_DEFINE_ATOMIC_ADD(name, type) SHMEMI_DEFINE_UPDATE(shmemi_add_##name, type, __atomic_fetch_add)
#define SHMEMI_ATOMIC_ADD(routine, name, type) SHMEMI_UPDATE(shmemi_add_##name, routine)
#define SHMEMI_CTX_ATOMIC_ADD(routine, name, type) SHMEMI_CTX_UPDATE(shmemi_add_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_ADD(name, type) \
    SHMEMI_DEFINE_FETCH_UPDATE(shmemi_fetch_add_##name, type, __atomic_fetch_add)
#define SHMEMI_ATOMIC_FETCH_ADD(routine, name, type) SHMEMI_FETCH_UPDATE(shmemi_fetch_add_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_ADD(routine, name, type) SHMEMI_CTX_FETCH_UPDATE(shmemi_fetch_add_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_ADD_NBI(name, type) \
    SHMEMI_DEFINE_UPDATE_NBI(shmemi_fetch_add_nbi_##name, type, __atomic_fetch_add)
#define SHMEMI_ATOMIC_FETCH_ADD_NBI(routine, name, type) SHMEMI_UPDATE_NBI(shmemi_fetch_add_nbi_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_ADD_NBI(routine, name, type) SHMEMI_CTX_UPDATE_NBI(shmemi_fetch_add_nbi_##name, routine)

#define SHMEMI_DEFINE_ATOMIC_AND(name, type) SHMEMI_DEFINE_UPDATE(shmemi_and_##name, type, __atomic_fetch_and)
#define SHMEMI_ATOMIC_AND(routine, name, type) SHMEMI_UPDATE(shmemi_and_##name, routine)
#define SHMEMI_CTX_ATOMIC_AND(routine, name, type) SHMEMI_CTX_UPDATE(shmemi_and_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_AND(name, type) \
    SHMEMI_DEFINE_FETCH_UPDATE(shmemi_fetch_and_##name, type, __atomic_fetch_and)
#define SHMEMI_ATOMIC_FETCH_AND(routine, name, type) SHMEMI_FETCH_UPDATE(shmemi_fetch_and_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_AND(routine, name, type) SHMEMI_CTX_FETCH_UPDATE(shmemi_fetch_and_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_AND_NBI(name, type) \
    SHMEMI_DEFINE_UPDATE_NBI(shmemi_fetch_and_nbi_##name, type, __atomic_fetch_and)
#define SHMEMI_ATOMIC_FETCH_AND_NBI(routine, name, type) SHMEMI_UPDATE_NBI(shmemi_fetch_and_nbi_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_AND_NBI(routine, name, type) SHMEMI_CTX_UPDATE_NBI(shmemi_fetch_and_nbi_##name, routine)

#define SHMEMI_DEFINE_ATOMIC_OR(name, type) SHMEMI_DEFINE_UPDATE(shmemi_or_##name, type, __atomic_fetch_or)
#define SHMEMI_ATOMIC_OR(routine, name, type) SHMEMI_UPDATE(shmemi_or_##name, routine)
#define SHMEMI_CTX_ATOMIC_OR(routine, name, type) SHMEMI_CTX_UPDATE(shmemi_or_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_OR(name, type) \
    SHMEMI_DEFINE_FETCH_UPDATE(shmemi_fetch_or_##name, type, __atomic_fetch_or)
#define SHMEMI_ATOMIC_FETCH_OR(routine, name, type) SHMEMI_FETCH_UPDATE(shmemi_fetch_or_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_OR(routine, name, type) SHMEMI_CTX_FETCH_UPDATE(shmemi_fetch_or_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_OR_NBI(name, type) \
    SHMEMI_DEFINE_UPDATE_NBI(shmemi_fetch_or_nbi_##name, type, __atomic_fetch_or)
#define SHMEMI_ATOMIC_FETCH_OR_NBI(routine, name, type) SHMEMI_UPDATE_NBI(shmemi_fetch_or_nbi_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_OR_NBI(routine, name, type) SHMEMI_CTX_UPDATE_NBI(shmemi_fetch_or_nbi_##name, routine)

#define SHMEMI_DEFINE_ATOMIC_XOR(name, type) SHMEMI_DEFINE_UPDATE(shmemi_xor_##name, type, __atomic_fetch_xor)
#define SHMEMI_ATOMIC_XOR(routine, name, type) SHMEMI_UPDATE(shmemi_xor_##name, routine)
#define SHMEMI_CTX_ATOMIC_XOR(routine, name, type) SHMEMI_CTX_UPDATE(shmemi_xor_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_XOR(name, type) \
    SHMEMI_DEFINE_FETCH_UPDATE(shmemi_fetch_xor_##name, type, __atomic_fetch_xor)
#define SHMEMI_ATOMIC_FETCH_XOR(routine, name, type) SHMEMI_FETCH_UPDATE(shmemi_fetch_xor_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_XOR(routine, name, type) SHMEMI_CTX_FETCH_UPDATE(shmemi_fetch_xor_##name, routine)
#define SHMEMI_DEFINE_ATOMIC_FETCH_XOR_NBI(name, type) \
    SHMEMI_DEFINE_UPDATE_NBI(shmemi_fetch_xor_nbi_##name, type, __atomic_fetch_xor)
#define SHMEMI_ATOMIC_FETCH_XOR_NBI(routine, name, type) SHMEMI_UPDATE_NBI(shmemi_fetch_xor_nbi_##name, routine)
#define SHMEMI_CTX_ATOMIC_FETCH_XOR_NBI(routine, name, type) SHMEMI_CTX_UPDATE_NBI(shmemi_fetch_xor_nbi_##name, routine)
