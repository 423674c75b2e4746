/* OpenSHMEM 1.6 as provided by FerroSHMEM.
 *
 * With GNU C or C++ and optimization, puts, gets, atomics, fences and queries are expanded
 * where they are called (see shmem/native.h):
 *   -DSHMEM_NO_INLINE     calls the library for all of them, as other compilers do;
 *   -DSHMEM_NATIVE_ONLY   leaves out the test whether a PE is on this node: the program
 *                         promises to run on one node, and shmem_init ends it otherwise;
 *   -DSHMEM_COUNT         has them count themselves, for profiles and counters.
 */
#ifndef SHMEM_H
#define SHMEM_H

/* For C++ programs whose warnings forbid what is C's: casts, and zeros that are pointers. Tests see all warnings. */
#if defined(__cplusplus) && defined(__GNUC__) && !defined(SHMEMI_WARNINGS)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

/* Marks routines that do not return. */
#if defined(__GNUC__)
#define SHMEMI_NORETURN __attribute__((__noreturn__))
#elif defined(__cplusplus)
#define SHMEMI_NORETURN [[noreturn]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEMI_NORETURN _Noreturn
#else
#define SHMEMI_NORETURN
#endif

/* Whether calls are expanded where they are. ThreadSanitizer would miss the library's synchronisation. */
#if defined(__SANITIZE_THREAD__)
#define SHMEMI_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHMEMI_TSAN
#endif
#endif
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(SHMEM_NO_INLINE) && !defined(SHMEMI_TSAN)
#define SHMEMI_FAST_PATH
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Complex types, where the compiler has them; else structures of the same layout. */
#if defined(__GNUC__)
__extension__ typedef float _Complex shmemi_complexf;
__extension__ typedef double _Complex shmemi_complexd;
#elif defined(__cplusplus) || defined(__STDC_NO_COMPLEX__) || defined(__TINYC__)
typedef struct { float re, im; } shmemi_complexf;
typedef struct { double re, im; } shmemi_complexd;
#else
typedef float _Complex shmemi_complexf;
typedef double _Complex shmemi_complexd;
#endif

/* Handle of a team. */
typedef struct shmemi_team *shmem_team_t;
/* Handle of a communication context. */
typedef struct shmemi_ctx *shmem_ctx_t;

/* Configuration of a team; the mask SHMEM_TEAM_NUM_CONTEXTS says that num_contexts is set. */
typedef struct {
    int num_contexts;
} shmem_team_config_t;

/* Configuration of a session; the mask SHMEM_CTX_SESSION_TOTAL_OPS says that total_ops is set. */
typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;

#include "shmem/constants.h"

/* What this program needs of the library that it runs with: a note in its file, which shmem_init compares with the
 * library. */
#if defined(__GNUC__) && defined(__ELF__)
__asm__(".pushsection .note.ferroshmem, \"a\", %note\n\t"
        ".balign 4\n\t"
        ".long 11, 16, 1\n\t"
        ".asciz \"FerroSHMEM\"\n\t"
        ".balign 4\n\t"
        ".long " SHMEMI_NEEDS "\n\t"
        ".popsection");
#endif

#include "shmem/api.h"

#include "shmem/native.h"

#ifdef __cplusplus
} /* extern "C" */
#endif

#if defined(__cplusplus)
#include "shmem/overloads.h"
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(SHMEM_NO_GENERIC)
#include "shmem/generic.h"
#endif

/* For a C part of a Python module. */
#ifdef Py_PYTHON_H
#include "shmem/shmem4py.h"
#endif

#endif
