/* Two-sided messages of an OpenSHMEM that has them: of FerroSHMEM, as an extension. WITH_MESSAGES is what it is given,
 * or nothing. */
#ifndef MESSAGES_SHMEM_H
#define MESSAGES_SHMEM_H

#if defined __has_include
#if __has_include(<shmemx.h>)
#include <shmemx.h>
#endif
#endif

#ifdef SHMEMX_ANY_SOURCE
#define HAS_MESSAGES 1
#define WITH_MESSAGES(...) __VA_ARGS__
#else
#define HAS_MESSAGES 0
#define WITH_MESSAGES(...)
#endif

#endif
