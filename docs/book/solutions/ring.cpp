// Passes each PE's array around the ring of all PEs, until it is back.
#include <algorithm>
#include <numeric>
#include <shmem.h>
#include <vector>

constexpr long length = 100;

long arrives[length];

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n;
    std::vector<long> first(length);
    std::iota(first.begin(), first.end(), 1000 * me);
    std::vector<long> now = first;
    for (int step = 0; step < n; step++) {
        shmem_put(arrives, now.data(), now.size(), right);
        shmem_barrier_all(); // it is complete
        std::copy(arrives, arrives + length, now.begin());
        shmem_barrier_all(); // and read, before it is written again
    }
    if (now != first)
        shmem_global_exit(1);
    shmem_finalize();
}
