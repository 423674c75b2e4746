/* One PE ends the job by shmem_global_exit while the others wait, compute or sleep; buffered
 * output of the caller comes out and its atexit handlers run. Arguments: status, calling PE. */
#include "check.h"

#include <unistd.h>

static long never;

static void at_exit(void)
{
    printf("atexit ran\n");
}

int main(int argc, char **argv)
{
    shmem_init();
    REQUIRE(argc == 3);
    int status = atoi(argv[1]), caller = atoi(argv[2]) % shmem_n_pes();
    shmem_barrier_all();
    if (shmem_my_pe() == caller) {
        atexit(at_exit);
        printf("buffered text");
        shmem_global_exit(status);
    }
    switch (shmem_my_pe() % 3) {
    case 0: shmem_barrier_all(); break;
    case 1: shmem_long_wait_until(&never, SHMEM_CMP_NE, 0); break;
    default:
        for (;;)
            pause();
    }
    return 99;
}
