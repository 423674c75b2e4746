/* The sizes at which an operation is measured. */
#include "sizes.h"

static bool belongs(enum sizes sizes, size_t bytes)
{
    switch (sizes) {
    case SCALAR_SIZES: return bytes <= sizeof(long) && (bytes & (bytes - 1)) == 0;
    case WORD_SIZES: return bytes % sizeof(long) == 0;
    default: return true;
    }
}

int sizes_of(enum sizes sizes, const struct options *options, size_t list[MOST_SIZES])
{
    if (sizes == NO_SIZE) {
        list[0] = 0;
        return 1;
    }
    if (sizes == LONG_SIZE) {
        list[0] = sizeof(long);
        return options->least <= sizeof(long) && sizeof(long) <= options->most;
    }
    int count = 0;
    for (size_t bytes = options->least;; bytes *= options->factor) {
        if (belongs(sizes, bytes))
            list[count++] = bytes;
        if (bytes > options->most / options->factor)
            return count;
    }
}
