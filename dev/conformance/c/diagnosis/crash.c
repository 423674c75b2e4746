/* Ends badly, as its argument says, or lets a debugger look. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int reached;

__attribute__((noinline)) static void spin(void)
{
    for (volatile long i = 0; i < 300000000; i++)
        ;
}

static void on_pe_1(const char *how)
{
    if (shmem_my_pe() != 1)
        return;
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "fault"))
        *(volatile int *)8 = 1; /* fault */
    if (!strcmp(how, "divide"))
        raise(SIGFPE);
    if (!strcmp(how, "misuse"))
        shmem_putmem(&reached, &reached, sizeof reached, 100000);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    shmem_init();
    if (!strcmp(how, "core")) {
        /* Memory that PE 1's core file has, that of PE 0, which it has not, and what it has freed. */
        size_t mine = 8 << 20, other = 96 << 20;
        char *small = shmem_malloc(mine), *large = shmem_malloc(other);
        memset(small, 'c', mine);
        if (shmem_my_pe() == 0)
            memset(large, 'd', other);
        shmem_barrier_all();
        shmem_free(large);
        how = "abort";
    }
    if (!strcmp(how, "spin"))
        spin();
    reached = 1;
    on_pe_1(how);
    shmem_barrier_all();
    printf("PE %d ended with reached = %d\n", shmem_my_pe(), reached);
    shmem_finalize();
    return 0;
}
