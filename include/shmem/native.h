/* The fast path: operations on PEs of this node, expanded where they are called.
 *
 * An object at p on this PE is at p + (r - me) * stride on PE r of the node, whether it is in
 * the symmetric heap or a global. The library publishes for each such PE the offset
 * (r - me) * stride, and a tag that is unique to the PE. While the tag of a PE does not
 * match - before shmem_init, for a PE that does not exist or is on another node, when arguments
 * are checked or a tool wants to see the calls, for this PE itself where PEs outnumber cores, so
 * that a loop which polls gives up the core - the operation is a call of the library.
 *
 * The words have a type of their own, pointer to an incomplete structure, which no store of
 * the program aliases, so that loops keep them in registers; and they are not const, so that
 * no compiler reads them before shmem_init.
 *
 * Included by shmem.h only. */
#ifndef SHMEM_NATIVE_H
#define SHMEM_NATIVE_H

#if defined(__SANITIZE_ADDRESS__)
#define SHMEMI_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHMEMI_ASAN
#endif
#endif

#ifdef SHMEMI_FAST_PATH

/* Number of PEs of a node that the library may describe. */
#define SHMEMI_PES 4096u

struct shmemi_word;

struct shmemi_native {
    struct shmemi_word *my_pe;   /* this PE's number + 1; 0: call the library */
    struct shmemi_word *n_pes;   /* number of PEs; 0: call the library */
    struct shmemi_word *ordered; /* 1: CPU fences order all operations; 0: call the library */
    struct shmemi_word *locks;   /* what a lock is while this PE holds it and none waits; 0: call the library */
    struct shmemi_word *reserved[4];
    /* PE r has element r % SHMEMI_PES of these: */
    /* Low half: its number or-ed with SHMEMI_PES - 1; 0: no PE. High half: that of the offset. */
    struct shmemi_word *tag[SHMEMI_PES];
    /* Bytes from this PE's memory to its memory, a multiple of 2^32. */
    struct shmemi_word *offset[SHMEMI_PES];
};

extern struct shmemi_native shmemi_native;

/* Makes shmem_init end the program unless the fast path reaches every PE. */
void shmemi_require_native(void);

/* memmove, past the caches if the bytes are many, and ordered before later stores. */
void *shmemi_copy(void *dest, const void *source, size_t bytes);

/* The same of non-blocking operations: idle threads may make the copy. Until it is complete, shmemi_native.ordered
 * is 0, so that quiet and fence call the library. */
void *shmemi_copy_nbi(void *dest, const void *source, size_t bytes);

/* Expanded where it is called; everything else, like taking the address, sees the library's. */
#define SHMEMI_INLINE \
    extern __inline__ __attribute__((__gnu_inline__, __always_inline__, __artificial__))
/* Hides which function `call` points to: the compiler must not see a function call itself. */
#define SHMEMI_CALL(name)               \
    __typeof__(name) *call = name;      \
    __asm__("" : "+r"(call))
/* Any function of the library. */
typedef void shmemi_function(void);
#define SHMEMI_BARRIER() __asm__ __volatile__("" : : : "memory")

/* A get, and an atomic operation that returns a value, are complete when they return: what the PE does next comes after
 * what they have read and written. On x86 loads are in order. There, and on Arm with atomic instructions, an atomic
 * operation that stores is a full fence; one that is a loop of exclusive loads and stores is none. */
#ifdef __x86_64__
#define SHMEMI_COMPLETE_LOAD()
#else
#define SHMEMI_COMPLETE_LOAD() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif
#if defined(__x86_64__) || defined(__ARM_FEATURE_ATOMICS)
#define SHMEMI_COMPLETE_ATOMIC()
#else
#define SHMEMI_COMPLETE_ATOMIC() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
#define SHMEMI_LIKELY(x) (__builtin_expect(!!(x), 1) != 0)

#ifdef SHMEM_COUNT

/* What the operations on a PE that are expanded here have been, by the kinds below. Those of PE r are element
 * r % SHMEMI_PES. Of threads that count at the same time, some operations may be lost. */
struct shmemi_count {
    unsigned long long operations[4], bytes[4];
};
extern struct shmemi_count shmemi_counts[SHMEMI_PES];
/* The same of quiets, fences, and locks that were set and cleared. */
extern unsigned long long shmemi_sync_counts[4];

/* Has the library leave them to the program, and look at what it counts. */
void shmemi_count_inline(void);

__attribute__((__constructor__, __unused__)) static void shmemi_counts_inline(void) {
    shmemi_count_inline();
}

/* Puts of at most 8 bytes, which a PE may wait for, are a kind of their own. */
#define SHMEMI_KIND_PUT(bytes) ((bytes) <= 8 ? 1 : 0)
#define SHMEMI_KIND_GET(bytes) 2
#define SHMEMI_KIND_ATOMIC(bytes) 3
SHMEMI_INLINE void shmemi_count(int kind, size_t bytes, int pe) {
    struct shmemi_count *const count = &shmemi_counts[(unsigned)pe % SHMEMI_PES];
    count->operations[kind]++;
    count->bytes[kind] += bytes;
}
#define SHMEMI_COUNTED(kind, bytes, pe) shmemi_count(SHMEMI_KIND_##kind(bytes), bytes, pe)
#define SHMEMI_SYNC_QUIET 0
#define SHMEMI_SYNC_FENCE 1
#define SHMEMI_SYNC_LOCK 2
#define SHMEMI_SYNC_UNLOCK 3
#define SHMEMI_COUNTED_SYNC(kind) (void)shmemi_sync_counts[SHMEMI_SYNC_##kind]++

#else
#define SHMEMI_COUNTED(kind, bytes, pe) (void)0
#define SHMEMI_COUNTED_SYNC(kind) (void)0
#endif

#ifdef SHMEM_NATIVE_ONLY

/* In every translation unit, since any of them may be the one that calls shmem_init. */
__attribute__((__constructor__, __unused__)) static void shmemi_native_only(void) {
    shmemi_require_native();
}

SHMEMI_INLINE int shmemi_is_native(int pe) {
    (void)pe;
    return 1;
}

SHMEMI_INLINE int shmemi_is_ordered(void) {
    return 1;
}

SHMEMI_INLINE long shmemi_lock_held(void) {
    return 1;
}

#else

SHMEMI_INLINE int shmemi_is_native(int pe) {
    return SHMEMI_LIKELY((unsigned)(uintptr_t)shmemi_native.tag[(unsigned)pe % SHMEMI_PES]
                         == ((unsigned)pe | (SHMEMI_PES - 1u)));
}

SHMEMI_INLINE int shmemi_is_ordered(void) {
    return SHMEMI_LIKELY((unsigned)(uintptr_t)shmemi_native.ordered != 0);
}

SHMEMI_INLINE long shmemi_lock_held(void) {
    return (long)(uintptr_t)shmemi_native.locks;
}

#endif

SHMEMI_INLINE uintptr_t shmemi_offset(int pe) {
    return (uintptr_t)shmemi_native.offset[(unsigned)pe % SHMEMI_PES];
}

/* A context's lowest bit says that its PE numbers are those of the world team. */
SHMEMI_INLINE int shmemi_is_world(shmem_ctx_t ctx) {
    return SHMEMI_LIKELY((uintptr_t)ctx & 1u);
}

/* For loops of scalar operations, which should keep the words of their PE in registers. The call
 * of the library in such a loop may change all memory, so a compiler would load the words again
 * for every operation. gcc loads them beside the call instead, if they are used before and after
 * both ways of the operation. For clang an asm may be a store, so __builtin_assume states
 * that an operation which called the library has not changed them. */
#if defined(SHMEM_NATIVE_ONLY)
#define SHMEMI_BEFORE(scalar, pe) (void)0
#define SHMEMI_BEFORE_COPY(pe) (void)0
#define SHMEMI_CALLED(pe) (void)0
#define SHMEMI_AFTER(scalar, pe) (void)0
#elif defined(__clang__)
struct shmemi_words {
    struct shmemi_word *tag, *offset;
};
SHMEMI_INLINE struct shmemi_words shmemi_words_of(int pe) {
    struct shmemi_words words;
    words.tag = shmemi_native.tag[(unsigned)pe % SHMEMI_PES];
    words.offset = shmemi_native.offset[(unsigned)pe % SHMEMI_PES];
    return words;
}
SHMEMI_INLINE void shmemi_same_words(struct shmemi_words words, int pe) {
    __builtin_assume(words.tag == shmemi_native.tag[(unsigned)pe % SHMEMI_PES]);
    __builtin_assume(words.offset == shmemi_native.offset[(unsigned)pe % SHMEMI_PES]);
}
#define SHMEMI_BEFORE_COPY(pe) const struct shmemi_words words = shmemi_words_of(pe)
#define SHMEMI_BEFORE(scalar, pe) SHMEMI_BEFORE_COPY(pe)
#define SHMEMI_CALLED(pe) shmemi_same_words(words, pe)
#define SHMEMI_AFTER(scalar, pe) (void)0
#else
SHMEMI_INLINE void shmemi_use_tag(int scalar, int pe) {
    if (scalar) __asm__ __volatile__("" : : "r"(shmemi_native.tag[(unsigned)pe % SHMEMI_PES]));
}
#define SHMEMI_BEFORE(scalar, pe) shmemi_use_tag(scalar, pe)
#define SHMEMI_BEFORE_COPY(pe) (void)0
#define SHMEMI_CALLED(pe) (void)0
#define SHMEMI_AFTER(scalar, pe) shmemi_use_tag(scalar, pe)
#endif

/* Address on PE pe of the object that is at p on this PE. Each compiler has its form in which
 * it vectorizes loops: clang loses a pointer that was an integer, and gcc believes that
 * pointer arithmetic stays within a global. */
SHMEMI_INLINE void *shmemi_at(const void *p, int pe) {
#if defined(__clang__)
    return (void *)((char *)(uintptr_t)p + (ptrdiff_t)shmemi_offset(pe));
#elif defined(SHMEM_NATIVE_ONLY)
    return (void *)((uintptr_t)p + shmemi_offset(pe));
#else
    /* One word instead of two where the PE changes from one operation to the next. */
    return (void *)((uintptr_t)p + (uintptr_t)shmemi_native.tag[(unsigned)pe % SHMEMI_PES]
                    - ((unsigned)pe | (SHMEMI_PES - 1u)));
#endif
}

/* Objects of 1 to 16 bytes of any type at any address. */
typedef uint8_t __attribute__((__may_alias__)) shmemi_any1;
typedef uint16_t __attribute__((__may_alias__, __aligned__(1))) shmemi_any2;
typedef uint32_t __attribute__((__may_alias__, __aligned__(1))) shmemi_any4;
typedef uint64_t __attribute__((__may_alias__, __aligned__(1))) shmemi_any8;
typedef uint64_t __attribute__((__vector_size__(16), __may_alias__, __aligned__(1))) shmemi_any16;

/* Scalar accesses. Loads are volatile, so that a program may wait in a loop of gets. Stores
 * may be plain, since the call of the library beside them keeps them in their loop. With
 * SHMEM_NATIVE_ONLY there is no such call, and stores are volatile too; but floating-point
 * accesses are plain, so that loops vectorize. */
#ifdef SHMEM_NATIVE_ONLY
#define SHMEMI_IS_FLOATING(type) ((type)0.5 > 0)
#if defined(__x86_64__) && !defined(__clang__)
/* gcc computes the address of a volatile access by an instruction of its own, which is one in
 * five of a loop of puts or gets. So a store is a plain one, followed by an empty asm that reads
 * any memory, as far as the compiler knows, and so keeps the store where it is; the asm's operand
 * does not change over a loop. A load is an asm, with the address as a distance from the
 * destination: that, too, does not change over a loop that copies an array. */
#define SHMEMI_LOAD(type, at) \
    (SHMEMI_IS_FLOATING(type) ? *(const type *)(at) : *(const volatile type *)(at))
#define SHMEMI_STORE(type, at, value)                                                  \
    do {                                                                               \
        *(type *)(at) = (value);                                                       \
        if (!SHMEMI_IS_FLOATING(type))                                                 \
            __asm__ __volatile__("" : : SHMEMI_ANY_MEMORY(pe));                        \
    } while (0)
#define SHMEMI_ANY_MEMORY(pe) "m"(*(const shmemi_any1 *)shmemi_offset(pe))
SHMEMI_INLINE uint64_t shmemi_load8_from(uintptr_t distance, const void *dest, int pe) {
    uint64_t value;
    __asm__ __volatile__("movq (%1,%2), %0"
                         : "=r"(value)
                         : "r"(dest), "r"(distance), SHMEMI_ANY_MEMORY(pe));
    return value;
}
#define SHMEMI_FETCH(type, dest, at)                                                        \
    do {                                                                                    \
        if (sizeof(type) == 8 && !SHMEMI_IS_FLOATING(type))                                 \
            *(dest) = (type)shmemi_load8_from((uintptr_t)(at) - (uintptr_t)(dest), (dest), pe); \
        else                                                                                \
            *(dest) = SHMEMI_LOAD(type, at);                                                \
    } while (0)
#else
#define SHMEMI_LOAD(type, at) \
    (SHMEMI_IS_FLOATING(type) ? *(const type *)(at) : *(const volatile type *)(at))
#define SHMEMI_STORE(type, at, value)                                   \
    do {                                                                \
        if (SHMEMI_IS_FLOATING(type)) *(type *)(at) = (value);          \
        else *(volatile type *)(at) = (value);                          \
    } while (0)
#endif
#else
#define SHMEMI_LOAD(type, at) (*(const volatile type *)(at))
#define SHMEMI_STORE(type, at, value) (*(type *)(at) = (value))
#endif

#ifndef SHMEMI_FETCH
#define SHMEMI_FETCH(type, dest, at) (*(dest) = SHMEMI_LOAD(type, at))
#endif

/* A copy of any number of bytes. The compiler expands those of few bytes, whose number is a constant; the
 * library makes the others. AddressSanitizer sees the compiler's alone. */
#ifdef SHMEMI_ASAN
#define SHMEMI_EXPANDED(bytes) 1
#else
#define SHMEMI_EXPANDED(bytes) (__builtin_constant_p(bytes) && (bytes) < 4096)
#endif
SHMEMI_INLINE void shmemi_copy_any(void *dest, const void *source, size_t bytes, int nbi) {
    if (SHMEMI_EXPANDED(bytes)) __builtin_memcpy(dest, source, bytes);
    else if (nbi) shmemi_copy_nbi(dest, source, bytes);
    else shmemi_copy(dest, source, bytes);
}

/* Copies to and from another PE's memory. */
SHMEMI_INLINE void shmemi_store(void *dest, const void *source, size_t bytes, int pe, int nbi) {
    (void)pe;
    if (__builtin_constant_p(bytes) && bytes == 1) {
        SHMEMI_STORE(shmemi_any1, dest, *(const shmemi_any1 *)source);
    } else if (__builtin_constant_p(bytes) && bytes == 2) {
        SHMEMI_STORE(shmemi_any2, dest, *(const shmemi_any2 *)source);
    } else if (__builtin_constant_p(bytes) && bytes == 4) {
        SHMEMI_STORE(shmemi_any4, dest, *(const shmemi_any4 *)source);
    } else if (__builtin_constant_p(bytes) && bytes == 8) {
        SHMEMI_STORE(shmemi_any8, dest, *(const shmemi_any8 *)source);
    } else {
        shmemi_copy_any(dest, source, bytes, nbi);
        SHMEMI_BARRIER();
    }
}

/* One object of 1 to 8 bytes of any type. As far as the compiler knows, the store may change the offset, which it
 * would load again for each object of an array. */
#if defined(SHMEM_NATIVE_ONLY) && defined(__clang__)
#define SHMEMI_FETCH_ANY(any, dest, source, pe)                                         \
    do {                                                                                \
        struct shmemi_word *const *const word = &shmemi_native.offset[(unsigned)(pe) % SHMEMI_PES]; \
        struct shmemi_word *const offset = *word;                                       \
        *(any *)(dest) = SHMEMI_LOAD(any, shmemi_at(source, pe));                       \
        __builtin_assume(*word == offset);                                              \
    } while (0)
#elif defined(SHMEM_NATIVE_ONLY)
/* For gcc, nothing else that the function with a restrict parameter accesses is at that pointer. This holds
 * for the offset, but the source may be what the last get has stored. So each store is followed by an
 * empty asm in another function, which may read it, as far as gcc knows, and which no volatile load passes. */
#define SHMEMI_FETCH_AS(any)                                                               \
    SHMEMI_INLINE const void *shmemi_fetch_##any(void *__restrict__ dest, const void *source, \
                                                 int pe) {                                 \
        const void *const from = shmemi_at(source, pe);                                    \
        *(any *)dest = SHMEMI_LOAD(any, from);                                             \
        return from;                                                                       \
    }
SHMEMI_FETCH_AS(shmemi_any1)
SHMEMI_FETCH_AS(shmemi_any2)
SHMEMI_FETCH_AS(shmemi_any4)
SHMEMI_FETCH_AS(shmemi_any8)
#define SHMEMI_FETCH_ANY(any, dest, source, pe)                                        \
    do {                                                                               \
        const void *const from = shmemi_fetch_##any(dest, source, pe);                 \
        __asm__ __volatile__("" : : "m"(*(const shmemi_any1 *)from));                  \
    } while (0)
#else
#define SHMEMI_FETCH_ANY(any, dest, source, pe) \
    (*(any *)(dest) = SHMEMI_LOAD(any, shmemi_at(source, pe)))
#endif

SHMEMI_INLINE void shmemi_load(void *dest, const void *source, size_t bytes, int pe, int nbi) {
    if (__builtin_constant_p(bytes) && bytes == 1) {
        SHMEMI_FETCH_ANY(shmemi_any1, dest, source, pe);
    } else if (__builtin_constant_p(bytes) && bytes == 2) {
        SHMEMI_FETCH_ANY(shmemi_any2, dest, source, pe);
    } else if (__builtin_constant_p(bytes) && bytes == 4) {
        SHMEMI_FETCH_ANY(shmemi_any4, dest, source, pe);
    } else if (__builtin_constant_p(bytes) && bytes == 8) {
        SHMEMI_FETCH_ANY(shmemi_any8, dest, source, pe);
    } else {
        const void *const from = shmemi_at(source, pe);
        SHMEMI_BARRIER();
        shmemi_copy_any(dest, from, bytes, nbi);
        SHMEMI_BARRIER();
    }
}

/* What a function with a context has more than one without: parameter, its type, argument, condition. */
#define SHMEMI_NO_PARAM
#define SHMEMI_NO_TYPE
#define SHMEMI_NO_ARG
#define SHMEMI_NO_TEST
#define SHMEMI_CTX_PARAM shmem_ctx_t ctx,
#define SHMEMI_CTX_TYPE shmem_ctx_t,
#define SHMEMI_CTX_ARG ctx,
#define SHMEMI_CTX_TEST shmemi_is_world(ctx) &&

/* Typed operations. SHMEMI_DEFINE_PUT(long, long) defines shmemi_put_long, which does a put of longs or
 * calls the library's routine for it: `with_ctx`, unless it is null, else `plain`. All routines for a
 * type, by all of its names, with a context and without, blocking and not, only call it: a compiler takes
 * several times as long for a body like this one's as for such a call. */
#define SHMEMI_IS_FAST() ((!with_ctx || shmemi_is_world(ctx)) && shmemi_is_native(pe))
/* Calls the library by a pointer of which the compiler does not know where it points. */
#define SHMEMI_LIBRARY(args)                                                                    \
    if (with_ctx) {                                                                             \
        __asm__("" : "+r"(with_ctx));                                                           \
        with_ctx(ctx, SHMEMI_LIST args);                                                        \
    } else {                                                                                    \
        __asm__("" : "+r"(plain));                                                              \
        plain args;                                                                             \
    }
#define SHMEMI_LIST(...) __VA_ARGS__

/* `ret operation(ctx, params, plain, with_ctx)` does `fast` or calls the library. */
#define SHMEMI_TYPED_VOID(operation, params, types, args, fast)                                 \
    SHMEMI_INLINE void operation(shmem_ctx_t ctx, SHMEMI_LIST params, void (*plain) types,      \
                                 void (*with_ctx)(shmem_ctx_t, SHMEMI_LIST types)) {            \
        SHMEMI_BEFORE_COPY(pe);                                                                 \
        if (SHMEMI_IS_FAST()) {                                                                 \
            fast;                                                                               \
        } else {                                                                                \
            SHMEMI_LIBRARY(args)                                                                \
            SHMEMI_CALLED(pe);                                                                  \
        }                                                                                       \
    }
/* The same for a function that returns a value: `fast` returns it. */
#define SHMEMI_TYPED_VALUE(operation, ret, params, types, args, fast)                           \
    SHMEMI_INLINE ret operation(shmem_ctx_t ctx, SHMEMI_LIST params, ret (*plain) types,        \
                                ret (*with_ctx)(shmem_ctx_t, SHMEMI_LIST types)) {              \
        if (SHMEMI_IS_FAST()) {                                                                 \
            fast;                                                                               \
        } else if (with_ctx) {                                                                  \
            __asm__("" : "+r"(with_ctx));                                                       \
            return with_ctx(ctx, SHMEMI_LIST args);                                             \
        } else {                                                                                \
            __asm__("" : "+r"(plain));                                                          \
            return plain args;                                                                  \
        }                                                                                       \
    }

/* p and g */

#define SHMEMI_DEFINE_P(name, type)                                                             \
    SHMEMI_INLINE void shmemi_p_##name(shmem_ctx_t ctx, type *dest, type value, int pe,         \
                                       void (*plain)(type *, type, int),                        \
                                       void (*with_ctx)(shmem_ctx_t, type *, type, int)) {      \
        SHMEMI_BEFORE(1, pe);                                                                   \
        if (SHMEMI_IS_FAST()) {                                                                 \
            SHMEMI_COUNTED(PUT, sizeof(type), pe);                                              \
            SHMEMI_STORE(type, shmemi_at(dest, pe), value);                                     \
        } else {                                                                                \
            SHMEMI_LIBRARY((dest, value, pe))                                                   \
            SHMEMI_CALLED(pe);                                                                  \
        }                                                                                       \
        SHMEMI_AFTER(1, pe);                                                                    \
    }
#define SHMEMI_P(routine, name, type) { shmemi_p_##name(0, dest, value, pe, routine, 0); }
#define SHMEMI_CTX_P(routine, name, type) { shmemi_p_##name(ctx, dest, value, pe, 0, routine); }

#ifdef __x86_64__
#define SHMEMI_RETURN_LOAD(type, at) return SHMEMI_LOAD(type, at)
#else
/* A load that acquires is one instruction, but of 16 bytes it would be a call. */
#define SHMEMI_RETURN_LOAD(type, at)                                                            \
    {                                                                                           \
        type value;                                                                             \
        if (sizeof(type) <= 8) {                                                                \
            __atomic_load((type *)(at), &value, __ATOMIC_ACQUIRE);                              \
        } else {                                                                                \
            value = SHMEMI_LOAD(type, at);                                                      \
            SHMEMI_COMPLETE_LOAD();                                                             \
        }                                                                                       \
        return value;                                                                           \
    }
#endif
#define SHMEMI_DEFINE_G(name, type)                                                             \
    SHMEMI_TYPED_VALUE(shmemi_g_##name, type, (const type *source, int pe), (const type *, int), \
                       (source, pe), SHMEMI_COUNTED(GET, sizeof(type), pe);                     \
                       SHMEMI_RETURN_LOAD(type, shmemi_at(source, pe)))
#define SHMEMI_G(routine, name, type) { return shmemi_g_##name(0, source, pe, routine, 0); }
#define SHMEMI_CTX_G(routine, name, type) { return shmemi_g_##name(ctx, source, pe, 0, routine); }

/* put and get of elements of a type; one element is an access of that type */

/* Puts, and what is not blocking, are completed by a quiet. */
#define SHMEMI_BEGIN_PUT() (void)0
#define SHMEMI_BEGIN_GET() SHMEMI_BARRIER()
#define SHMEMI_COMPLETE_PUT(nbi)
#ifdef __x86_64__
#define SHMEMI_COMPLETE_GET(nbi)
#else
#define SHMEMI_COMPLETE_GET(nbi) \
    if (!(nbi)) SHMEMI_COMPLETE_LOAD()
#endif

#define SHMEMI_DEFINE_COPY(operation, kind, type, single, several)                              \
    SHMEMI_INLINE void operation(shmem_ctx_t ctx, type *dest, const type *source, size_t nelems, \
                                 int pe, void (*plain)(type *, const type *, size_t, int),      \
                                 void (*with_ctx)(shmem_ctx_t, type *, const type *, size_t, int), \
                                 int nbi) {                                                     \
        const int one = __builtin_constant_p(nelems) && nelems == 1;                            \
        SHMEMI_BEFORE(one, pe);                                                                 \
        if (SHMEMI_IS_FAST()) {                                                                 \
            SHMEMI_COUNTED(kind, nelems * sizeof(type), pe);                                    \
            if (one)                                                                            \
                single;                                                                         \
            else                                                                                \
                several;                                                                        \
            SHMEMI_COMPLETE_##kind(nbi);                                                        \
        } else {                                                                                \
            SHMEMI_LIBRARY((dest, source, nelems, pe))                                          \
            SHMEMI_CALLED(pe);                                                                  \
        }                                                                                       \
        SHMEMI_AFTER(one, pe);                                                                  \
    }

#define SHMEMI_DEFINE_PUT(name, type)                                                           \
    SHMEMI_DEFINE_COPY(shmemi_put_##name, PUT, type, SHMEMI_STORE(type, shmemi_at(dest, pe), *source),\
                       shmemi_store(shmemi_at(dest, pe), source, nelems * sizeof(type), pe, nbi))
#define SHMEMI_PUT(routine, name, type) \
    { shmemi_put_##name(0, dest, source, nelems, pe, routine, 0, 0); }
#define SHMEMI_PUT_NBI(routine, name, type) \
    { shmemi_put_##name(0, dest, source, nelems, pe, routine, 0, 1); }
#define SHMEMI_CTX_PUT(routine, name, type) \
    { shmemi_put_##name(ctx, dest, source, nelems, pe, 0, routine, 0); }
#define SHMEMI_CTX_PUT_NBI(routine, name, type) \
    { shmemi_put_##name(ctx, dest, source, nelems, pe, 0, routine, 1); }

#define SHMEMI_DEFINE_GET(name, type)                                                           \
    SHMEMI_DEFINE_COPY(shmemi_get_##name, GET, type, SHMEMI_FETCH(type, dest, shmemi_at(source, pe)),\
                       shmemi_load(dest, source, nelems * sizeof(type), pe, nbi))
#define SHMEMI_GET(routine, name, type) \
    { shmemi_get_##name(0, dest, source, nelems, pe, routine, 0, 0); }
#define SHMEMI_GET_NBI(routine, name, type) \
    { shmemi_get_##name(0, dest, source, nelems, pe, routine, 0, 1); }
#define SHMEMI_CTX_GET(routine, name, type) \
    { shmemi_get_##name(ctx, dest, source, nelems, pe, 0, routine, 0); }
#define SHMEMI_CTX_GET_NBI(routine, name, type) \
    { shmemi_get_##name(ctx, dest, source, nelems, pe, 0, routine, 1); }

/* put and get of elements of a size */

#define SHMEMI_DEFINE_COPY_SIZE(operation, kind, fast)                                          \
    SHMEMI_INLINE void operation(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, \
                                 int pe, void (*plain)(void *, const void *, size_t, int),      \
                                 void (*with_ctx)(shmem_ctx_t, void *, const void *, size_t, int), \
                                 size_t size, int nbi) {                                        \
        SHMEMI_BEFORE_COPY(pe);                                                                 \
        if (SHMEMI_IS_FAST()) {                                                                 \
            SHMEMI_COUNTED(kind, nelems * size, pe);                                            \
            fast;                                                                               \
            SHMEMI_COMPLETE_##kind(nbi);                                                        \
        } else {                                                                                \
            SHMEMI_LIBRARY((dest, source, nelems, pe))                                          \
            SHMEMI_CALLED(pe);                                                                  \
        }                                                                                       \
    }
SHMEMI_DEFINE_COPY_SIZE(shmemi_put_size, PUT, shmemi_store(shmemi_at(dest, pe), source, nelems * size, pe, nbi))
SHMEMI_DEFINE_COPY_SIZE(shmemi_get_size, GET, shmemi_load(dest, source, nelems * size, pe, nbi))
#define SHMEMI_PUT_SIZE(routine, size) \
    { shmemi_put_size(0, dest, source, nelems, pe, routine, 0, size, 0); }
#define SHMEMI_PUT_SIZE_NBI(routine, size) \
    { shmemi_put_size(0, dest, source, nelems, pe, routine, 0, size, 1); }
#define SHMEMI_CTX_PUT_SIZE(routine, size) \
    { shmemi_put_size(ctx, dest, source, nelems, pe, 0, routine, size, 0); }
#define SHMEMI_CTX_PUT_SIZE_NBI(routine, size) \
    { shmemi_put_size(ctx, dest, source, nelems, pe, 0, routine, size, 1); }
#define SHMEMI_GET_SIZE(routine, size) \
    { shmemi_get_size(0, dest, source, nelems, pe, routine, 0, size, 0); }
#define SHMEMI_GET_SIZE_NBI(routine, size) \
    { shmemi_get_size(0, dest, source, nelems, pe, routine, 0, size, 1); }
#define SHMEMI_CTX_GET_SIZE(routine, size) \
    { shmemi_get_size(ctx, dest, source, nelems, pe, 0, routine, size, 0); }
#define SHMEMI_CTX_GET_SIZE_NBI(routine, size) \
    { shmemi_get_size(ctx, dest, source, nelems, pe, 0, routine, size, 1); }

/* Strided copies to and from another PE's memory, of elements of a type and of blocks of bytes.
 * The loop is in the calling function, where strides and numbers may be constants. There are many
 * such functions, so clang is kept from making several loops of one. */
#if defined(__clang__)
#define SHMEMI_SMALL_LOOP _Pragma("clang loop unroll(disable) interleave(disable)")
#else
#define SHMEMI_SMALL_LOOP
#endif

/* Strided copies of more elements, or of blocks of more bytes, call the library, where idle threads may share them: its
 * call takes some 10 ns, and these 500 at least. No element counts as many, so that this comparison takes the place of
 * the one before the first element, and costs one instruction; where the number is a constant, it costs none. */
#if defined(SHMEM_NATIVE_ONLY) || defined(SHMEMI_ASAN)
#define SHMEMI_IS_SHORT(count, most) 1
#else
#define SHMEMI_IS_SHORT(count, most) SHMEMI_LIKELY((count) - 1u < (most))
#endif
SHMEMI_INLINE int shmemi_few(size_t nelems) {
    (void)nelems;
    return SHMEMI_IS_SHORT(nelems, 2048u);
}
/* Blocks whose size is a constant are counted, to save the product; of others, each is a call of memcpy. */
SHMEMI_INLINE int shmemi_few_blocks(size_t bytes, size_t nblocks) {
    (void)bytes, (void)nblocks;
    return __builtin_constant_p(bytes) ? SHMEMI_IS_SHORT(nblocks, 65536u / (bytes + (bytes == 0)))
                                       : SHMEMI_IS_SHORT(bytes * nblocks, 65536u);
}

#define SHMEMI_STRIDED(type, to, from, dst, sst, nelems)                        \
    do {                                                                        \
        type *const shmemi_to = (type *)(to);                                   \
        const type *const shmemi_from = (const type *)(from);                   \
        ptrdiff_t shmemi_i;                                                     \
        SHMEMI_SMALL_LOOP                                                       \
        for (shmemi_i = 0; shmemi_i < (ptrdiff_t)(nelems); shmemi_i++)          \
            shmemi_to[shmemi_i * (dst)] = shmemi_from[shmemi_i * (sst)];        \
    } while (0)

SHMEMI_INLINE void shmemi_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                 size_t bytes, size_t nblocks) {
    ptrdiff_t i;
    SHMEMI_SMALL_LOOP
    for (i = 0; i < (ptrdiff_t)nblocks; i++)
        __builtin_memcpy((char *)dest + i * dst, (const char *)source + i * sst, bytes);
}

#define SHMEMI_STRIDED_PUT(type)                                         \
    SHMEMI_COUNTED(PUT, nelems * sizeof(type), pe);                      \
    SHMEMI_STRIDED(type, shmemi_at(dest, pe), source, dst, sst, nelems); \
    SHMEMI_BARRIER()
#define SHMEMI_STRIDED_GET(type)                                         \
    SHMEMI_COUNTED(GET, nelems * sizeof(type), pe);                      \
    SHMEMI_BARRIER();                                                    \
    SHMEMI_STRIDED(type, dest, shmemi_at(source, pe), dst, sst, nelems); \
    SHMEMI_BARRIER();                                                    \
    SHMEMI_COMPLETE_LOAD()

/* Those with a context have typed operations of their own: in one for both, g++ assigns registers so that
 * the former need more instructions. */
#define SHMEMI_DEFINE_STRIDED(operation, type, fast, P, C, A, T)                                \
    SHMEMI_INLINE void operation(P type *dest, const type *source, ptrdiff_t dst, ptrdiff_t sst, \
                                 size_t nelems, int pe,                                         \
                                 void (*call)(C type *, const type *, ptrdiff_t, ptrdiff_t, size_t, \
                                              int)) {                                           \
        SHMEMI_BEFORE_COPY(pe);                                                                 \
        if (shmemi_few(nelems) && T shmemi_is_native(pe)) {                                     \
            fast;                                                                               \
        } else {                                                                                \
            __asm__("" : "+r"(call));                                                           \
            call(A dest, source, dst, sst, nelems, pe);                                         \
            SHMEMI_CALLED(pe);                                                                  \
        }                                                                                       \
    }
#define SHMEMI_DEFINE_STRIDED_BOTH(name, type, fast)                                            \
    SHMEMI_DEFINE_STRIDED(shmemi_##name, type, fast, SHMEMI_NO_PARAM, SHMEMI_NO_TYPE,           \
                          SHMEMI_NO_ARG, SHMEMI_NO_TEST)                                        \
    SHMEMI_DEFINE_STRIDED(shmemi_ctx_##name, type, fast, SHMEMI_CTX_PARAM, SHMEMI_CTX_TYPE,     \
                          SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)
#define SHMEMI_DEFINE_IPUT(name, type)                                                          \
    SHMEMI_DEFINE_STRIDED_BOTH(iput_##name, type, SHMEMI_STRIDED_PUT(type))
#define SHMEMI_IPUT(routine, name, type) \
    { shmemi_iput_##name(dest, source, dst, sst, nelems, pe, routine); }
#define SHMEMI_CTX_IPUT(routine, name, type) \
    { shmemi_ctx_iput_##name(ctx, dest, source, dst, sst, nelems, pe, routine); }
#define SHMEMI_DEFINE_IGET(name, type)                                                          \
    SHMEMI_DEFINE_STRIDED_BOTH(iget_##name, type, SHMEMI_STRIDED_GET(type))
#define SHMEMI_IGET(routine, name, type) \
    { shmemi_iget_##name(dest, source, dst, sst, nelems, pe, routine); }
#define SHMEMI_CTX_IGET(routine, name, type) \
    { shmemi_ctx_iget_##name(ctx, dest, source, dst, sst, nelems, pe, routine); }

/* Elements of a size, at any address. */
#define SHMEMI_DEFINE_IPUT_SIZE(size)                                                           \
    SHMEMI_DEFINE_STRIDED_BOTH(iput_size_##size, void, SHMEMI_STRIDED_PUT(shmemi_any##size))
SHMEMI_DEFINE_IPUT_SIZE(1)
SHMEMI_DEFINE_IPUT_SIZE(2)
SHMEMI_DEFINE_IPUT_SIZE(4)
SHMEMI_DEFINE_IPUT_SIZE(8)
SHMEMI_DEFINE_IPUT_SIZE(16)
#define SHMEMI_IPUT_SIZE(routine, size) SHMEMI_IPUT(routine, size_##size, void)
#define SHMEMI_CTX_IPUT_SIZE(routine, size) SHMEMI_CTX_IPUT(routine, size_##size, void)
#define SHMEMI_DEFINE_IGET_SIZE(size)                                                           \
    SHMEMI_DEFINE_STRIDED_BOTH(iget_size_##size, void, SHMEMI_STRIDED_GET(shmemi_any##size))
SHMEMI_DEFINE_IGET_SIZE(1)
SHMEMI_DEFINE_IGET_SIZE(2)
SHMEMI_DEFINE_IGET_SIZE(4)
SHMEMI_DEFINE_IGET_SIZE(8)
SHMEMI_DEFINE_IGET_SIZE(16)
#define SHMEMI_IGET_SIZE(routine, size) SHMEMI_IGET(routine, size_##size, void)
#define SHMEMI_CTX_IGET_SIZE(routine, size) SHMEMI_CTX_IGET(routine, size_##size, void)

/* The operations on blocks for any type of `size` bytes, with the function of the library to call
 * for a PE that is not on this node. */
#define SHMEMI_DEFINE_BLOCKS(name, kind, to, from, P, A, T)                                         \
    SHMEMI_INLINE void name(P void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,         \
                            size_t bsize, size_t nblocks, int pe, size_t size,                      \
                            shmemi_function *function) {                                            \
        SHMEMI_BEFORE_COPY(pe);                                                                     \
        if (shmemi_few_blocks(bsize * size, nblocks) && T shmemi_is_native(pe)) {                   \
            SHMEMI_COUNTED(kind, bsize * nblocks * size, pe);                                       \
            SHMEMI_BEGIN_##kind();                                                                  \
            shmemi_blocks(to, from, dst * (ptrdiff_t)size, sst * (ptrdiff_t)size, bsize * size,     \
                          nblocks);                                                                 \
            SHMEMI_BARRIER();                                                                       \
            SHMEMI_COMPLETE_##kind(0);                                                              \
        } else {                                                                                    \
            typedef void routine(P void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int); \
            routine *call = (routine *)function;                                                    \
            __asm__("" : "+r"(call));                                                               \
            call(A dest, source, dst, sst, bsize, nblocks, pe);                                     \
            SHMEMI_CALLED(pe);                                                                      \
        }                                                                                           \
    }
#define SHMEMI_DEFINE_BOTH(name, kind, to, from)                                                    \
    SHMEMI_DEFINE_BLOCKS(shmemi_##name, kind, to, from,                                             \
                         SHMEMI_NO_PARAM, SHMEMI_NO_ARG, SHMEMI_NO_TEST)                            \
    SHMEMI_DEFINE_BLOCKS(shmemi_ctx_##name, kind, to, from,                                         \
                         SHMEMI_CTX_PARAM, SHMEMI_CTX_ARG, SHMEMI_CTX_TEST)

SHMEMI_DEFINE_BOTH(ibput, PUT, shmemi_at(dest, pe), source)
SHMEMI_DEFINE_BOTH(ibget, GET, dest, shmemi_at(source, pe))

#define SHMEMI_BLOCKS(operation, routine, size) \
    { operation(dest, source, dst, sst, bsize, nblocks, pe, size, (shmemi_function *)routine); }
#define SHMEMI_CTX_BLOCKS(operation, routine, size) \
    { operation(ctx, dest, source, dst, sst, bsize, nblocks, pe, size, (shmemi_function *)routine); }

#define SHMEMI_IBPUT(routine, name, type) SHMEMI_BLOCKS(shmemi_ibput, routine, sizeof(type))
#define SHMEMI_CTX_IBPUT(routine, name, type) SHMEMI_CTX_BLOCKS(shmemi_ctx_ibput, routine, sizeof(type))
#define SHMEMI_IBPUT_SIZE(routine, size) SHMEMI_BLOCKS(shmemi_ibput, routine, size)
#define SHMEMI_CTX_IBPUT_SIZE(routine, size) SHMEMI_CTX_BLOCKS(shmemi_ctx_ibput, routine, size)
#define SHMEMI_IBGET(routine, name, type) SHMEMI_BLOCKS(shmemi_ibget, routine, sizeof(type))
#define SHMEMI_CTX_IBGET(routine, name, type) SHMEMI_CTX_BLOCKS(shmemi_ctx_ibget, routine, sizeof(type))
#define SHMEMI_IBGET_SIZE(routine, size) SHMEMI_BLOCKS(shmemi_ibget, routine, size)
#define SHMEMI_CTX_IBGET_SIZE(routine, size) SHMEMI_CTX_BLOCKS(shmemi_ctx_ibget, routine, size)

#include "native_atomic.h"

/* Ordering and queries */

/* A full fence. As the compilers write it, gcc's locks the word at the top of the stack, and a
 * load of what is spilled there waits for it (4 of 11 ns of an 8-byte put and quiet); clang's is
 * mfence, which takes longer than a locked instruction. */
SHMEMI_INLINE void shmemi_full_fence(void) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ __volatile__("lock orl $0, -64(%%rsp)" ::: "memory", "cc");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#define SHMEMI_FENCE(routine)                        \
    {                                                \
        if (shmemi_is_ordered()) {                   \
            SHMEMI_COUNTED_SYNC(FENCE);              \
            __atomic_thread_fence(__ATOMIC_RELEASE); \
        } else {                                     \
            SHMEMI_CALL(routine);                    \
            call();                                  \
        }                                            \
    }
#define SHMEMI_QUIET(routine)           \
    {                                   \
        if (shmemi_is_ordered()) {      \
            SHMEMI_COUNTED_SYNC(QUIET); \
            shmemi_full_fence();        \
        } else {                        \
            SHMEMI_CALL(routine);       \
            call();                     \
        }                               \
    }
#define SHMEMI_CTX_FENCE(routine)                          \
    {                                                      \
        if (shmemi_is_world(ctx) && shmemi_is_ordered()) { \
            SHMEMI_COUNTED_SYNC(FENCE);                    \
            __atomic_thread_fence(__ATOMIC_RELEASE);       \
        } else {                                           \
            SHMEMI_CALL(routine);                          \
            call(ctx);                                     \
        }                                                  \
    }
#define SHMEMI_CTX_QUIET(routine)                          \
    {                                                      \
        if (shmemi_is_world(ctx) && shmemi_is_ordered()) { \
            SHMEMI_COUNTED_SYNC(QUIET);                    \
            shmemi_full_fence();                           \
        } else {                                           \
            SHMEMI_CALL(routine);                          \
            call(ctx);                                     \
        }                                                  \
    }
/* Locks of PEs of one node. PE 0's copy of the variable is 0 while no PE holds the lock or waits for it, and
 * shmemi_lock_held() of the PE that holds it while none waits: 1, or in a resilient job who it is. The library handles
 * all other values, which its crates/core/src/wait/ticket.rs and crates/runtime/src/lock.rs describe. */
SHMEMI_INLINE int shmemi_lock_turns(long *lock, long held, int is_held) {
    long from = is_held ? held : 0;
    return SHMEMI_LIKELY(shmemi_is_native(0)) && SHMEMI_LIKELY(held != 0)
           && SHMEMI_LIKELY(__atomic_compare_exchange_n((long *)shmemi_at(lock, 0), &from, is_held ? 0 : held, 0,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}
#define SHMEMI_TURN_LOCK(routine, is_held, kind)                      \
    {                                                                 \
        if (shmemi_lock_turns(lock, shmemi_lock_held(), is_held)) {   \
            SHMEMI_COUNTED_SYNC(kind);                                \
        } else {                                                      \
            SHMEMI_CALL(routine);                                     \
            call(lock);                                               \
        }                                                             \
    }
#define SHMEMI_SET_LOCK(routine) SHMEMI_TURN_LOCK(routine, 0, LOCK)
#define SHMEMI_CLEAR_LOCK(routine)                                    \
    {                                                                 \
        /* The stores of the critical section are complete, also for PEs that do not take the lock. */ \
        SHMEMI_COMPLETE_ATOMIC();                                     \
        SHMEMI_TURN_LOCK(routine, 1, UNLOCK)                          \
    }
/* A number, which is kept with `more` added once the library is initialised. */
#define SHMEMI_NUMBER(routine, number, more)                          \
    {                                                                 \
        unsigned known = (unsigned)(uintptr_t)shmemi_native.number;   \
        if (SHMEMI_LIKELY(known != 0)) {                              \
            return (int)(known - more);                               \
        } else {                                                      \
            SHMEMI_CALL(routine);                                     \
            return call();                                            \
        }                                                             \
    }
#define SHMEMI_MY_PE(routine) SHMEMI_NUMBER(routine, my_pe, 1u)
#define SHMEMI_N_PES(routine) SHMEMI_NUMBER(routine, n_pes, 0u)

/* The typed operations, for each C type once. */
#define SHMEMI_BIT_AMO_TYPES(define)                                          \
    define(int, int) define(long, long) define(uint, unsigned int)            \
    define(ulong, unsigned long) define(ulonglong, unsigned long long)
#define SHMEMI_AMO_TYPES(define) SHMEMI_BIT_AMO_TYPES(define) define(longlong, long long)
#define SHMEMI_EXT_AMO_TYPES(define) SHMEMI_AMO_TYPES(define) define(float, float) define(double, double)
#define SHMEMI_RMA_TYPES(define)                                              \
    SHMEMI_EXT_AMO_TYPES(define) define(longdouble, long double)              \
    define(char, char) define(schar, signed char) define(short, short)        \
    define(uchar, unsigned char) define(ushort, unsigned short)

SHMEMI_RMA_TYPES(SHMEMI_DEFINE_PUT)
SHMEMI_RMA_TYPES(SHMEMI_DEFINE_GET)
SHMEMI_RMA_TYPES(SHMEMI_DEFINE_P)
SHMEMI_RMA_TYPES(SHMEMI_DEFINE_G)
SHMEMI_RMA_TYPES(SHMEMI_DEFINE_IPUT)
SHMEMI_RMA_TYPES(SHMEMI_DEFINE_IGET)
SHMEMI_EXT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_SET)
SHMEMI_EXT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH)
SHMEMI_EXT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_NBI)
SHMEMI_EXT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_SWAP)
SHMEMI_EXT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_SWAP_NBI)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_COMPARE_SWAP)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_COMPARE_SWAP_NBI)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_INC)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_INC)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_INC_NBI)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_ADD)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_ADD)
SHMEMI_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_ADD_NBI)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_AND)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_AND)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_AND_NBI)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_OR)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_OR)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_OR_NBI)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_XOR)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_XOR)
SHMEMI_BIT_AMO_TYPES(SHMEMI_DEFINE_ATOMIC_FETCH_XOR_NBI)

#endif

#include "inline.h"

#endif
