/* Caches and memory of the node. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/* Bytes of last-level cache of the node, all its instances together; 0: not known. */
size_t machine_cache(void);

/* Bytes of memory that are available without swapping, within the limit of a container. */
size_t machine_memory(void);

#endif
