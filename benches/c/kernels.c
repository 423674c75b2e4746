/* Loops of 8-byte puts and gets, as in a program. */
#include "scalars.h"
#include <shmem.h>

long table[ELEMENTS];

#define KERNELS(place, array, ...)                         \
    void place##_p(__VA_ARGS__ long *local, int pe)        \
    {                                                      \
        const long value = local[0];                       \
        for (int i = 0; i < ELEMENTS; i++)                 \
            shmem_long_p(&array[i], value + i, pe);        \
    }                                                      \
    void place##_g(__VA_ARGS__ long *local, int pe)        \
    {                                                      \
        long total = 0;                                    \
        for (int i = 0; i < ELEMENTS; i++)                 \
            total += shmem_long_g(&array[i], pe);          \
        local[0] = total;                                  \
    }                                                      \
    void place##_put(__VA_ARGS__ long *local, int pe)      \
    {                                                      \
        for (int i = 0; i < ELEMENTS; i++)                 \
            shmem_long_put(&array[i], &local[i], 1, pe);   \
    }                                                      \
    void place##_get(__VA_ARGS__ long *local, int pe)      \
    {                                                      \
        for (int i = 0; i < ELEMENTS; i++)                 \
            shmem_long_get(&local[i], &array[i], 1, pe);   \
    }                                                      \
    void place##_get64(__VA_ARGS__ long *local, int pe)    \
    {                                                      \
        for (int i = 0; i < ELEMENTS; i++)                 \
            shmem_get64(&local[i], &array[i], 1, pe);      \
    }

#define MINE long *mine,

KERNELS(heap, mine, MINE)
KERNELS(global, table, )
