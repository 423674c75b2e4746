/* The main that oshcc --kernels links, in C and C++: runs the kernels of the program for the PEs that have started
 * it. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    const int calls = shmemx_kernel_serve();
    if (calls < 0)
        fprintf(stderr, "This program runs kernels for PEs that start it: start it by shmemx_spawn.\n");
    shmem_finalize();
    return calls < 0;
}
