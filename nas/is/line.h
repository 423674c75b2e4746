/* Cache lines that are asked for before they are used. Hardware does so by itself within a page of
 * memory that is read in order; it does not begin the next page, which costs the more the smaller
 * pages are, and it foresees nothing in what is written here and there. */
#ifndef LINE_H
#define LINE_H

enum { LINE = 64 };

/* How far ahead arrays are read, in bytes: a few hundred nanoseconds of work. */
enum { READ_AHEAD = 2048 };

static inline void line_to_read(const void *address)
{
    __builtin_prefetch(address);
}

static inline void line_to_write(const void *address)
{
#ifdef __x86_64__
    /* Compilers write this instruction, which other CPUs ignore, only when told to. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
