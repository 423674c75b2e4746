/* Prefetching of cache lines. Hardware prefetches within a page of memory that is read in order. It
 * does not cross into the next page, which costs more the smaller pages are, and it cannot predict
 * writes to many places in turn. */
#ifndef LINE_H
#define LINE_H

enum { LINE = 64 };

/* Distance of prefetches in arrays that are read in order, in bytes: a few hundred nanoseconds of
 * work. */
enum { READ_AHEAD = 2048 };

static inline void line_to_read(const void *address)
{
    __builtin_prefetch(address);
}

static inline void line_to_write(const void *address)
{
#ifdef __x86_64__
    /* Compilers emit this instruction, which other CPUs ignore, only for CPUs that have it. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
