/* What the module shmem calls instead of C's functions. Generated from the table in crates/abi/. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The size of a transfer is not known here. */
#define SHMEM_NO_INLINE
#include <shmem.h>

/* The part of a descriptor that gfortran and flang have alike. */
struct descriptor {
    char *base_addr;
    size_t elem_len;
    int version;
    int8_t rank;
    struct {
        ptrdiff_t lower_bound, extent, sm;
    } dim[];
};

static int is_contiguous(const struct descriptor *of) {
    ptrdiff_t next = (ptrdiff_t)of->elem_len;
    int is_next = 1;
    for (int i = 0; i < of->rank; i++) {
        ptrdiff_t extent = of->dim[i].extent;
        if (extent == 0)
            return 1;
        is_next &= extent == 1 || of->dim[i].sm == next;
        next *= extent;
    }
    return is_next;
}

static void *address(const struct descriptor *of, const char *function, const char *argument) {
    if (!is_contiguous(of)) {
        int length = (int)(strstr(function, "_f08") - function);
        fprintf(stderr, "%.*s: the elements of the array section %s are not next to each other: copy them, or pass "
                "strides to shmem_iput or shmem_iget\n", length, function, argument);
        shmem_global_exit(1);
    }
    return of->base_addr;
}

#define ADDRESS(argument) address(argument, __func__, #argument)

/* A text is padded with blanks. */
void shmem_info_get_name_(char *name, size_t length);
void shmem_info_get_name_f08(const struct descriptor *name) {
    shmem_info_get_name_(name->base_addr, name->elem_len);
}

_Bool shmem_team_eq_f08(shmem_team_t a, shmem_team_t b) {
    return a == b;
}
_Bool shmem_team_ne_f08(shmem_team_t a, shmem_team_t b) {
    return a != b;
}
_Bool shmem_ctx_eq_f08(shmem_ctx_t a, shmem_ctx_t b) {
    return a == b;
}
_Bool shmem_ctx_ne_f08(shmem_ctx_t a, shmem_ctx_t b) {
    return a != b;
}
