/* The keys of IS. */
#ifndef KEYS_H
#define KEYS_H

#include <stddef.h>

/* Keys `first` up to `first + count` of the sequence, each below 2^log2_max_key. */
void keys_generate(int *keys, size_t first, size_t count, int log2_max_key);

#endif
