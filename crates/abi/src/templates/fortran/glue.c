/* What Fortran programs call of OpenSHMEM. Generated from the table in crates/abi/. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shmem.h>

/* A work array of C's in one of INTEGERs, which may begin at half of its element. */
static long *aligned(int *pSync) {
    return (long *)(((uintptr_t)pSync + sizeof(long) - 1) & ~(sizeof(long) - 1));
}

/* Sets the error code of a routine, and ends the job instead if `abort` says so. */
static void fail(const char *routine, int code, const char *why, int *errcode, const int *abort) {
    if (*abort) {
        fprintf(stderr, "%s: %s\n", routine, why);
        shmem_global_exit(1);
    }
    *errcode = code;
}

#define NO_LENGTH -1, "the length is not greater than 0"
#define NO_MEMORY -2, "the symmetric heap has no room: see SHMEM_SYMMETRIC_SIZE"
#define NOT_SYMMETRIC -3, "the address is not on the symmetric heap"

/* Lengths are in words of 4 bytes. */
void shpalloc_(void **addr, const int *length, int *errcode, const int *abort) {
    if (*length <= 0) {
        fail("SHPALLOC", NO_LENGTH, errcode, abort);
        return;
    }
    void *block = shmem_malloc((size_t)*length * 4);
    if (!block) {
        fail("SHPALLOC", NO_MEMORY, errcode, abort);
        return;
    }
    *addr = block;
    *errcode = 0;
}

void shpdeallc_(void **addr, int *errcode, const int *abort) {
    if (!shmem_addr_accessible(*addr, shmem_my_pe())) {
        fail("SHPDEALLC", NOT_SYMMETRIC, errcode, abort);
        return;
    }
    shmem_free(*addr);
    *errcode = 0;
}

/* The status is 1 where the block has moved. */
void shpclmove_(void **addr, const int *length, int *status, const int *abort) {
    if (*length <= 0) {
        fail("SHPCLMOVE", NO_LENGTH, status, abort);
        return;
    }
    if (!shmem_addr_accessible(*addr, shmem_my_pe())) {
        fail("SHPCLMOVE", NOT_SYMMETRIC, status, abort);
        return;
    }
    void *block = shmem_realloc(*addr, (size_t)*length * 4);
    if (!block) {
        fail("SHPCLMOVE", NO_MEMORY, status, abort);
        return;
    }
    *status = block != *addr;
    *addr = block;
}

/* A text is padded with blanks; its length comes after all arguments. */
void shmem_info_get_name_(char *name, size_t length) {
    char text[SHMEM_MAX_NAME_LEN];
    shmem_info_get_name(text);
    size_t used = strlen(text) < length ? strlen(text) : length;
    memcpy(name, text, used);
    memset(name + used, ' ', length - used);
}

/*
 * Locks. One of C's has 8 bytes, a default INTEGER 4, so it is a ticket lock of its own in PE 0's copy: the upper half
 * is the next ticket to be drawn, the lower half the one that is served. So the drawing carries into nothing.
 */
static unsigned ticket_served(const unsigned *lock) {
    return shmem_uint_atomic_fetch(lock, 0) & 0xffff;
}

void shmem_set_lock_(unsigned *lock) {
    unsigned ticket = shmem_uint_atomic_fetch_add(lock, 0x10000, 0) >> 16;
    while (ticket_served(lock) != ticket)
        sched_yield();
}

void shmem_clear_lock_(unsigned *lock) {
    shmem_quiet();
    /* The last ticket is followed by the first one, without a carry. */
    unsigned next = ticket_served(lock) == 0xffff ? -0xffffu : 1;
    shmem_uint_atomic_add(lock, next, 0);
    shmem_quiet();
}

int shmem_test_lock_(unsigned *lock) {
    unsigned seen = shmem_uint_atomic_fetch(lock, 0);
    if (seen >> 16 == (seen & 0xffff) && shmem_uint_atomic_compare_swap(lock, seen, seen + 0x10000, 0) == seen)
        return 0;
    sched_yield();
    return 1;
}

/*
 * Reductions of REAL*16, which C's long double is on some processors only. Each member gets the others' values
 * itself, between two barriers.
 */
#if __LDBL_MANT_DIG__ == 113
typedef long double real16;
#else
typedef __float128 real16;
#endif

#define REDUCE(name, combine)                                                                            \
    void shmem_real16_##name##_to_all_(real16 *dest, const real16 *source, const int *nreduce,           \
        const int *start, const int *log_stride, const int *size, real16 *pWrk, int *pSync) {            \
        size_t n = (size_t)*nreduce;                                                                     \
        real16 *sum = malloc(2 * n * sizeof(real16)), *other = sum + n;                                  \
        (void)pWrk;                                                                                      \
        if (n && !sum) {                                                                                 \
            fprintf(stderr, "SHMEM_REAL16_" #name "_TO_ALL: no memory\n");                               \
            shmem_global_exit(1);                                                                        \
        }                                                                                                \
        shmem_barrier(*start, *log_stride, *size, aligned(pSync));                                       \
        for (int i = 0; i < *size; i++) {                                                                \
            shmem_getmem(i ? other : sum, source, n * sizeof(real16), *start + (i << *log_stride));      \
            for (size_t k = 0; i && k < n; k++) {                                                        \
                real16 a = sum[k], b = other[k];                                                         \
                sum[k] = combine;                                                                        \
            }                                                                                            \
        }                                                                                                \
        shmem_barrier(*start, *log_stride, *size, aligned(pSync));                                       \
        memcpy(dest, sum, n * sizeof(real16));                                                           \
        free(sum);                                                                                       \
    }

REDUCE(max, a > b ? a : b)
REDUCE(min, a < b ? a : b)
REDUCE(sum, a + b)
REDUCE(prod, a * b)
