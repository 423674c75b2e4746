/* `long double` by value, and arithmetic on it, which Rust lacks. */

#include <stddef.h>

typedef struct shmemi_ctx *shmem_ctx_t;

/* Defined in Rust; 1 is the default context. */
void shmemi_longdouble_p(int with_ctx, size_t ctx, long double *dest, const long double *value, int pe);
void shmemi_longdouble_g(int with_ctx, size_t ctx, long double *value, const long double *source, int pe);

#define DEFAULT 1

#define ALIAS(name) __attribute__((weak, alias(#name)))

void pshmem_longdouble_p(long double *dest, long double value, int pe) {
    shmemi_longdouble_p(0, DEFAULT, dest, &value, pe);
}

void pshmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) {
    shmemi_longdouble_p(1, (size_t)ctx, dest, &value, pe);
}

long double pshmem_longdouble_g(const long double *source, int pe) {
    long double value;
    shmemi_longdouble_g(0, DEFAULT, &value, source, pe);
    return value;
}

long double pshmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe) {
    long double value;
    shmemi_longdouble_g(1, (size_t)ctx, &value, source, pe);
    return value;
}

void shmem_longdouble_p(long double *dest, long double value, int pe) ALIAS(pshmem_longdouble_p);
void shmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe)
    ALIAS(pshmem_ctx_longdouble_p);
long double shmem_longdouble_g(const long double *source, int pe) ALIAS(pshmem_longdouble_g);
long double shmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe)
    ALIAS(pshmem_ctx_longdouble_g);

/* dest[i] = a[i] op b[i], called from Rust; dest may be a or b. */

#define REDUCE(name, value)                                                                  \
    void shmemi_longdouble_##name(long double *dest, const long double *a,                   \
                                  const long double *b, size_t n) {                          \
        for (size_t i = 0; i < n; i++) dest[i] = (value);                                    \
    }

REDUCE(sum, a[i] + b[i])
REDUCE(prod, a[i] * b[i])
REDUCE(min, b[i] < a[i] ? b[i] : a[i])
REDUCE(max, b[i] > a[i] ? b[i] : a[i])
