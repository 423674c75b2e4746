/* Extensions of OpenSHMEM go here; FerroSHMEM has none yet. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#endif
