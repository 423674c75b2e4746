/* Flags in symmetric memory. */
#include "flag.h"

#include "benchmark.h"
#include "variant.h"

static Flag *flags; /* [AXES][SIDES] of ghosts, [cells][AXES][SIDES] of lines */

size_t flags_size(void)
{
    return (size_t)(1 + partition.q) * AXES * SIDES * sizeof(Flag);
}

void flags_make(void)
{
    flags = symmetric(flags_size(), "flags");
}

Flag *flag_of_ghosts(enum axis axis, enum side side)
{
    return &flags[axis * SIDES + side];
}

Flag *flag_of_lines(int cell, enum axis axis, enum side side)
{
    return &flags[((1 + cell) * AXES + (int)axis) * SIDES + (int)side];
}

void flag_raise(Flag *flag, long count, int pe)
{
#ifdef VARIANT_PUTGET
    shmem_fence();
    shmem_long_p(&flag->count, count, pe);
#else
    __atomic_store_n((long *)shmem_ptr(&flag->count, pe), count, __ATOMIC_RELEASE);
#endif
}

void flag_await(Flag *flag, long count)
{
    shmem_long_wait_until(&flag->count, SHMEM_CMP_GE, count);
}
