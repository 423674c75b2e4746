/* Loops over arrays of 8-byte elements: by the library (kernels.c), on the heap and on a global
 * array, and bare (bare.c, compiled so that loops are not vectorised). */
#ifndef SCALARS_H
#define SCALARS_H

enum { ELEMENTS = 2048 }; /* an array and its copy fit into the first-level cache */

/* Symmetric. */
extern long table[ELEMENTS];

/* `mine` is symmetric, `local` is private. */
void heap_p(long *mine, long *local, int pe);
void heap_g(long *mine, long *local, int pe);
void heap_put(long *mine, long *local, int pe);
void heap_get(long *mine, long *local, int pe);
void heap_get64(long *mine, long *local, int pe);

/* The same on `table`. */
void global_p(long *local, int pe);
void global_g(long *local, int pe);
void global_put(long *local, int pe);
void global_get(long *local, int pe);
void global_get64(long *local, int pe);

/* `there` is the local address of the peer's array. */
void bare_p(long *there, long value);
void bare_g(const long *there, long *sum);
void bare_put(long *there, const long *local);
void bare_get(const long *there, long *local);

#endif
