/* Prints the page faults of a process that does nothing, or of a PE that does nothing if compiled with -DPE. */
#ifdef PE
#include <shmem.h>
#endif
#include <stdio.h>
#include <sys/resource.h>

int main(void)
{
#ifdef PE
    shmem_init();
    shmem_finalize();
#endif
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_minflt);
    return 0;
}
