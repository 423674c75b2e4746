/* Prevents compilers from removing, merging or hoisting measured operations. */
#ifndef KEEP_H
#define KEEP_H

/* The compiler must assume that this statement reads and writes all memory: it emits the stores
 * before it and repeats the loads after it. The statement itself has no instruction. */
static inline void keep_memory(void)
{
    __asm__ volatile("" : : : "memory");
}

#endif
