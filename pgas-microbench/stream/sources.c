/* Kernels on local arrays or on arrays of the next PE. */
#include "sources.h"

#if defined(VARIANT_LOCAL)

const char *const sources_name = "sources local";

void sources_run(Kernel kernel, Operands o, size_t n)
{
    kernel_run(kernel, o, n);
}

#else

#include <shmem.h>

static int next_pe(void)
{
    return (shmem_my_pe() + 1) % shmem_n_pes();
}

#if defined(VARIANT_PTR)

const char *const sources_name = "sources on the next PE, loaded through shmem_ptr";

void sources_run(Kernel kernel, Operands o, size_t n)
{
    int pe = next_pe();
    kernel_run(kernel, (Operands){o.to, shmem_ptr(o.x, pe), shmem_ptr(o.y, pe)}, n);
}

#elif defined(VARIANT_PUTGET)

const char *const sources_name = "sources on the next PE, read by get";

/* Elements of one get: two blocks fit the first-level cache. */
enum { BLOCK = 2048 };

void sources_run(Kernel kernel, Operands o, size_t n)
{
    static double x[BLOCK], y[BLOCK];
    int pe = next_pe();
    if (kernel == COPY) { /* a get is a copy */
        shmem_double_get(o.to, o.x, n, pe);
        return;
    }
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        shmem_double_get(x, o.x + at, count, pe);
        if (kernel == ADD || kernel == TRIAD)
            shmem_double_get(y, o.y + at, count, pe);
        kernel_run(kernel, (Operands){o.to + at, x, y}, count);
    }
}

#else
#error "define VARIANT_LOCAL, VARIANT_PUTGET or VARIANT_PTR"
#endif

#endif
