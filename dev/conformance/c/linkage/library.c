/* The shared library of library_globals.c. */
#include <shmem.h>

int library_data = 3;

void library_put(int *target, int value, int pe)
{
    shmem_int_p(target, value, pe);
}

void *library_ptr(int *target, int pe)
{
    return shmem_ptr(target, pe);
}
