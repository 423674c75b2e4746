/* A routine that the fuzzer draws, and its arguments. Included by routines.h, after the kinds. */
#ifndef FUZZ_ROUTINE_H
#define FUZZ_ROUTINE_H

#include <limits.h>
#include <pshmem.h>
#include <shmem.h>
#include <stdint.h>

/* With -DPROFILING_NAMES, all routines are called by the names of the profiling interface. The
 * parentheses keep type-generic macros of the same names out. */
#ifdef PROFILING_NAMES
#define F(name) (p##name)
#else
#define F(name) (name)
#endif

/* How the model computes with a type. */
enum class { BYTES, SIGNED, UNSIGNED, REAL, COMPLEX };
#define PLAIN_CHAR (CHAR_MIN < 0 ? SIGNED : UNSIGNED)

/* The arguments of every routine, by the names that they have in the prototypes. */
struct arguments {
    void *dest, *fetch, *result;
    const void *source, *value, *cond, *values;
    size_t nelems, bsize, nblocks, npes, index;
    size_t *indices, size;
    const size_t *displs, *dest_displs, *source_displs, *counts;
    ptrdiff_t dst, sst;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op, pe, cmp, code;
    const int *status, *target_pes;
    shmem_ctx_t ctx;
    shmem_team_t team;
    int PE_root, PE_start, logPE_stride, PE_size;
    int form, elements; /* of a reduction: see nonblocking.h, values.h */
    long *pSync;
    void *pWrk;
};

struct routine {
    const char *name;
    void (*call)(struct arguments *a);
    enum kind kind;
    enum class class;
    int size;    /* bytes of an element; 0 if it has none */
    int has_ctx; /* whether it takes a context */
};

struct span {
    int first, count;
};

#endif
