/* What all conformance programs share: checks that say what differed, and the exit status. */
#ifndef CONFORMANCE_CHECK_H
#define CONFORMANCE_CHECK_H

#include <shmem.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A PE that has failed this often stops printing: the first lines tell enough. */
enum { CHECK_MAX_LINES = 10 };

static int check_failures;

__attribute__((format(printf, 4, 5), unused)) static void
check_failed(const char *file, int line, const char *condition, const char *format, ...)
{
    if (__atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED) >= CHECK_MAX_LINES)
        return;
    int initialized = 0;
    shmem_query_initialized(&initialized);
    char detail[256];
    __builtin_va_list args;
    __builtin_va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    __builtin_va_end(args);
    fprintf(stderr, "PE %d: %s:%d: not so: %s:%s\n", initialized ? shmem_my_pe() : -1, file, line,
            condition, detail);
}

/* CHECK(condition) or CHECK(condition, "printf format", ...): notes a failure and goes on. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_failed(__FILE__, __LINE__, #condition, " " __VA_ARGS__);                         \
    } while (0)

/* Like CHECK, but ends the job: what follows would crash or hang. */
#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_failed(__FILE__, __LINE__, #condition, " " __VA_ARGS__);                         \
            shmem_global_exit(1);                                                                  \
        }                                                                                          \
    } while (0)

/* How often to do the same, or how much of it: less where a program is compiled with -DBRIEF,
 * for machines on which all is slow. */
#ifdef BRIEF
#define REPEAT(usually, brief) (brief)
#else
#define REPEAT(usually, brief) (usually)
#endif

/* What main returns. */
__attribute__((unused)) static int check_status(void)
{
    return check_failures == 0 ? 0 : 1;
}

/* Ends the use of the library; what main returns. */
__attribute__((unused)) static int finish(void)
{
    shmem_finalize();
    return check_status();
}

__attribute__((unused)) static int right_of(int pe)
{
    return (pe + 1) % shmem_n_pes();
}

__attribute__((unused)) static int left_of(int pe)
{
    return (pe + shmem_n_pes() - 1) % shmem_n_pes();
}

__attribute__((unused)) static void *checked_malloc(size_t size)
{
    void *p = shmem_malloc(size);
    REQUIRE(p != NULL, "shmem_malloc(%zu)", size);
    return p;
}

/* The types of the standard's tables: X(C type, type name). Few are a type of each size, signed and not, integer and
 * floating-point: what the library and the compiler do for the others of the size is the same, and every_prototype.c
 * calls the routines of all of them. */
#ifdef FEW_TYPES
#define BITWISE_AMO_TYPES(X)                                                                       \
    X(uint32_t, uint32)                                                                            \
    X(unsigned long, ulong)

#define AMO_TYPES(X)                                                                               \
    BITWISE_AMO_TYPES(X)                                                                           \
    X(int, int)                                                                                    \
    X(long, long)
#else
#define BITWISE_AMO_TYPES(X)                                                                       \
    X(unsigned int, uint)                                                                          \
    X(unsigned long, ulong)                                                                        \
    X(unsigned long long, ulonglong)                                                               \
    X(int32_t, int32)                                                                              \
    X(int64_t, int64)                                                                              \
    X(uint32_t, uint32)                                                                            \
    X(uint64_t, uint64)

#define AMO_TYPES(X)                                                                               \
    BITWISE_AMO_TYPES(X)                                                                           \
    X(int, int)                                                                                    \
    X(long, long)                                                                                  \
    X(long long, longlong)                                                                         \
    X(size_t, size)                                                                                \
    X(ptrdiff_t, ptrdiff)
#endif

#define EXTENDED_AMO_TYPES(X)                                                                      \
    AMO_TYPES(X)                                                                                   \
    X(float, float)                                                                                \
    X(double, double)

#define BITWISE_TYPES(X)                                                                           \
    BITWISE_AMO_TYPES(X)                                                                           \
    X(unsigned char, uchar)                                                                        \
    X(unsigned short, ushort)                                                                      \
    X(int8_t, int8)                                                                                \
    X(int16_t, int16)                                                                              \
    X(uint8_t, uint8)                                                                              \
    X(uint16_t, uint16)                                                                            \
    X(size_t, size)

#define TYPE_OF_EACH_SIZE(X)                                                                       \
    X(float, float)                                                                                \
    X(double, double)                                                                              \
    X(long double, longdouble)                                                                     \
    X(signed char, schar)                                                                          \
    X(short, short)                                                                                \
    X(int, int)                                                                                    \
    X(long, long)

#define ORDERED_TYPES(X)                                                                           \
    TYPE_OF_EACH_SIZE(X)                                                                           \
    X(char, char)                                                                                  \
    X(long long, longlong)                                                                         \
    X(ptrdiff_t, ptrdiff)

#ifdef RMA_TYPES /* by the compiler's command line */
#elif defined FEW_TYPES
#define RMA_TYPES(X) TYPE_OF_EACH_SIZE(X)
#else
#define RMA_TYPES(X)                                                                               \
    ORDERED_TYPES(X)                                                                               \
    BITWISE_TYPES(X)
#endif

/* The operators of reductions. */
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define SUM_OF(a, b) ((a) + (b))
#define PROD_OF(a, b) ((a) * (b))
#define AND_OF(a, b) ((a) & (b))
#define OR_OF(a, b) ((a) | (b))
#define XOR_OF(a, b) ((a) ^ (b))

/* Whether another launcher than oshrun has started this job. */
static inline int is_launched_by_other(void)
{
    return getenv("PMI_RANK") != NULL || getenv("PMI_FD") != NULL || getenv("PMIX_RANK") != NULL;
}

#endif
