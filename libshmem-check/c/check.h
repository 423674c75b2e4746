/* What the functions of the preloaded library share with the checks, which are in Rust (crates/check). */
#ifndef SHMEM_CHECK_H
#define SHMEM_CHECK_H

#include <shmem.h>
#include <shmemx.h>
#include <pshmem.h>

/* As `Role` of crates/check. */
enum {
    ROLE_END,
    ROLE_VALUE,
    ROLE_PE,
    ROLE_TEAM_PE,
    ROLE_DEST,
    ROLE_SOURCE,
    ROLE_SIGNAL,
    ROLE_LOCK,
    ROLE_WORK,
    ROLE_VARIABLE,
    ROLE_READ,
    ROLE_WRITE,
    ROLE_TEAM,
    ROLE_ROOT,
    ROLE_START,
    ROLE_LOG_STRIDE,
    ROLE_SIZE,
    ROLE_CONTEXT,
};

/* As `Extent`. */
enum {
    NO_EXTENT,
    ONE,
    ELEMENTS,
    PER_MEMBER,
    STRIDED,
    BLOCKS,
    STRIDED_PER_MEMBER,
    BYTES,
    ELEMENTS_OF,
    WORK_ARRAY,
};

struct shmemi_parameter {
    unsigned char role, extent;
    /* Parameters that the extent depends on, or sizes. */
    unsigned char a, b, c;
};

struct shmemi_routine {
    const char *name;
    /* Up to that of role ROLE_END. */
    const struct shmemi_parameter *parameters;
    unsigned char operation;
    /* Bytes of an element. */
    unsigned char element;
};

struct shmemi_call {
    const struct shmemi_routine *routine;
    /* The arguments but for the context. */
    uintptr_t *values;
    /* The context, 0 for the default one. */
    uintptr_t context;
    /* Where the program goes on after the call. */
    uintptr_t site;
    /* For the checks, from the call's start to its end. */
    uintptr_t scratch[4];
    /* Whether the library's function is not to be called. */
    uintptr_t skip;
    /* Of a call of the Rust API, which these functions are not. */
    const void *of_rust;
};

void shmemi_check_enter(struct shmemi_call *call);
uintptr_t shmemi_check_leave(struct shmemi_call *call, uintptr_t result);

/* What the checks call of the library. */
struct shmemi_library {
    int (*my_pe)(void);
    int (*n_pes)(void);
    void *(*ptr)(const void *, int);
    int (*addr_accessible)(const void *, int);
    int (*team_n_pes)(shmem_team_t);
    int (*team_translate_pe)(shmem_team_t, int, shmem_team_t);
    int (*ctx_get_team)(shmem_ctx_t, shmem_team_t *);
    void (*barrier_all)(void);
    void *(*malloc)(size_t);
    void *(*align)(size_t, size_t);
    void *(*malloc_with_hints)(size_t, long);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    uintptr_t world, default_context;
};

/* Starts the checks; `describe` says what they may call. */
void shmemi_check_start(void (*describe)(struct shmemi_library *));
void shmemi_check_initialized(void);

/* The library's functions are weak: a program that is no OpenSHMEM program has none. */
#define SHMEMI_BEGIN(ret, name, number, operation, element, context, declared, ...)                \
    extern __typeof__(name) p##name __attribute__((weak));                                         \
    ret(name) declared                                                                             \
    {                                                                                              \
        static const struct shmemi_routine routine = {#name, parameters##number, operation,        \
                                                      element};                                    \
        uintptr_t values[] = {__VA_ARGS__};                                                        \
        struct shmemi_call call = {&routine,                                                       \
                                   values,                                                         \
                                   context,                                                        \
                                   (uintptr_t)__builtin_return_address(0),                         \
                                   {0, 0, 0, 0},                                                   \
                                   0,                                                              \
                                   NULL};                                                          \
        if (operation != OPERATION_OTHER && operation != OPERATION_INIT)                           \
            shmemi_check_enter(&call);

#define SHMEMI_LAST(ret, name, number, operation, element, context, declared, passed, ...)     \
    SHMEMI_BEGIN(ret, name, number, operation, element, context, declared, __VA_ARGS__)            \
    p##name passed;                                                                                \
    }

#define SHMEMI_VOID(ret, name, number, operation, element, context, declared, passed, ...)         \
    SHMEMI_BEGIN(ret, name, number, operation, element, context, declared, __VA_ARGS__)            \
    p##name passed;                                                                                \
    if (operation == OPERATION_INIT)                                                               \
        shmemi_check_initialized();                                                                \
    else if (operation != OPERATION_OTHER)                                                         \
        shmemi_check_leave(&call, 0);                                                              \
    }

#define SHMEMI_FREE(ret, name, number, operation, element, context, declared, passed, ...)         \
    SHMEMI_BEGIN(ret, name, number, operation, element, context, declared, __VA_ARGS__)            \
    if (!call.skip) p##name passed;                                                                \
    shmemi_check_leave(&call, 0);                                                                  \
    }

#define SHMEMI_ALLOCATE(ret, name, number, operation, element, context, declared, passed, ...)     \
    SHMEMI_BEGIN(ret, name, number, operation, element, context, declared, __VA_ARGS__)            \
    void *result = call.skip ? NULL : p##name passed;                                              \
    return (void *)shmemi_check_leave(&call, (uintptr_t)result);                                   \
    }

/* A result that the checks look at. */
#define SHMEMI_WORD(ret, name, number, operation, element, context, declared, passed, ...)         \
    SHMEMI_BEGIN(ret, name, number, operation, element, context, declared, __VA_ARGS__)            \
    ret result = p##name passed;                                                                   \
    if (operation == OPERATION_INIT)                                                               \
        shmemi_check_initialized();                                                                \
    else if (operation != OPERATION_OTHER)                                                         \
        shmemi_check_leave(&call, (uintptr_t)result);                                              \
    return result;                                                                                 \
    }

#define SHMEMI_VALUE(ret, name, number, operation, element, context, declared, passed, ...)        \
    SHMEMI_BEGIN(ret, name, number, operation, element, context, declared, __VA_ARGS__)            \
    ret result = p##name passed;                                                                   \
    if (operation != OPERATION_OTHER)                                                              \
        shmemi_check_leave(&call, 0);                                                              \
    return result;                                                                                 \
    }

#endif
