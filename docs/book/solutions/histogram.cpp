// Counts random numbers in a table that is divided among the PEs.
#include <numeric>
#include <random>
#include <shmem.h>

constexpr int keys = 1024;
constexpr long draws = 100000;

long counts[keys]; // more than each PE needs: key k is element k / n of PE k % n
long mine, sum;

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    std::mt19937_64 random(me);
    std::uniform_int_distribution<int> any(0, keys - 1);
    for (long i = 0; i < draws; i++) {
        int key = any(random);
        shmem_atomic_inc(&counts[key / n], key % n);
    }
    shmem_barrier_all();
    mine = std::accumulate(counts, counts + keys, 0L);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    if (sum != n * draws)
        shmem_global_exit(1);
    shmem_finalize();
}
