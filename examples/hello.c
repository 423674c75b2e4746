/* Each PE adds its number to a sum on PE 0, which checks the sum.
 *
 *     oshcc hello.c -o hello && oshrun -n 4 ./hello
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static long greetings; /* static data is symmetric: every PE has a copy, which all PEs can access */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    int n = shmem_n_pes();
    printf("Hello from PE %d of %d\n", me, n);

    shmem_long_atomic_add(&greetings, me + 1, 0);
    shmem_barrier_all();

    long expected = (long)n * (n + 1) / 2;
    int failed = me == 0 && greetings != expected;
    if (failed)
        fprintf(stderr, "hello: PE 0 has %ld, expected %ld\n", greetings, expected);
    shmem_finalize();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
