/* Uses the library where the instruction cpuid ends the process: a hypervisor takes some 20 microseconds for each. */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SET_CPUID = 0x1012, BYTES = 4 << 20 };

int main(void)
{
#ifdef __x86_64__
    const int faults = syscall(SYS_arch_prctl, SET_CPUID, 0) == 0;
#else
    const int faults = 0;
#endif
    if (!faults) {
        puts("skipped: this processor cannot refuse cpuid");
        return 0;
    }
    shmem_init();
    const int me = shmem_my_pe(), peer = (me + 1) % shmem_n_pes();
    char *const dest = shmem_malloc(BYTES), *const source = malloc(BYTES);
    double *const sum = shmem_malloc(sizeof *sum), *const one = shmem_malloc(sizeof *one);
    if (dest == NULL || source == NULL || sum == NULL || one == NULL)
        shmem_global_exit(1);
    memset(source, 1, BYTES);
    *one = 1;
    for (int i = 0; i < 20; i++)
        shmem_putmem(dest, source, BYTES, peer);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, one, 1);
    static long flag;
    if (me == 0) {
        /* The other PE waits for a while. */
        usleep(1000);
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            shmem_long_p(&flag, 1, pe);
    }
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    if (*sum != shmem_n_pes() || dest[BYTES - 1] != 1)
        shmem_global_exit(1);
    shmem_barrier_all();
    shmem_finalize();
    free(source);
    return 0;
}
