/* The location of the arrays that a kernel reads, chosen at build time:
 *
 *   VARIANT_LOCAL    on the same PE;
 *   VARIANT_PUTGET   on the next PE, read by get;
 *   VARIANT_PTR      on the next PE, read by loads through shmem_ptr. */
#ifndef SOURCES_H
#define SOURCES_H

#include "kernels.h"

extern const char *const sources_name;

/* Runs a kernel on n elements; the operands are symmetric, `to` is local. */
void sources_run(Kernel kernel, Operands o, size_t n);

#endif
