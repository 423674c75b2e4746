/* A process that does nothing, and a PE that does nothing if compiled with -DPE. */
#ifdef PE
#include <shmem.h>
#endif

int main(void)
{
#ifdef PE
    shmem_init();
    shmem_finalize();
#endif
    return 0;
}
