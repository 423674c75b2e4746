/* The sizes at which an operation is measured. */
#ifndef SIZES_H
#define SIZES_H

#include <stddef.h>

#include "options.h"

enum sizes {
    NO_SIZE,      /* moves no data: 0 */
    LONG_SIZE,    /* 8, if that is between -m and -M */
    SCALAR_SIZES, /* of the series of -m, -M and -f those that a C type has: 1, 2, 4, 8 */
    WORD_SIZES,   /* of the series the multiples of 8 */
    BYTE_SIZES,   /* the whole series */
};

enum { MOST_SIZES = 64 };

/* Fills `list` and returns how many there are. */
int sizes_of(enum sizes sizes, const struct options *options, size_t list[MOST_SIZES]);

#endif
