/* Keeps the compiler from dropping, merging or moving out of a loop what is measured. */
#ifndef KEEP_H
#define KEEP_H

/* The compiler must assume that all memory is read and written here: stores before it are made,
 * loads after it are made again. No instruction comes of it. */
static inline void keep_memory(void)
{
    __asm__ volatile("" : : : "memory");
}

#endif
