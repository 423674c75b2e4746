/* Counts random numbers in a table that is divided among the PEs. */
#include <shmem.h>

#define KEYS 1024
#define DRAWS 100000L

long counts[KEYS]; /* more than each PE needs: key k is element k / n of PE k % n */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    uint64_t random = 88172645463325252u + me;
    for (long i = 0; i < DRAWS; i++) {
        random ^= random << 13; /* xorshift, by G. Marsaglia */
        random ^= random >> 7;
        random ^= random << 17;
        int key = random % KEYS;
        shmem_long_atomic_inc(&counts[key / n], key % n);
    }
    shmem_barrier_all();

    static long sum, mine;
    for (int i = 0; i < KEYS; i++)
        mine += counts[i];
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    if (sum != n * DRAWS)
        shmem_global_exit(1);
    shmem_finalize();
}
