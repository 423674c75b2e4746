// Sorts random numbers of all PEs: each PE gets those of its range, and sorts them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <shmem.h>
#include <vector>

struct Free {
    void operator()(void *block) const { shmem_free(block); }
};
template <typename T> using Symmetric = std::unique_ptr<T[], Free>;

template <typename T> Symmetric<T> symmetric(std::size_t n)
{
    return Symmetric<T>(static_cast<T *>(shmem_calloc(n, sizeof(T))));
}

constexpr long numbers = 10000; // of each PE

long all, most, total;

static void sort()
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    std::vector<std::uint32_t> mine(numbers);
    std::mt19937 random(me + 1);
    std::generate(mine.begin(), mine.end(), [&] { return static_cast<std::uint32_t>(random()); });
    std::sort(mine.begin(), mine.end()); // the numbers for each PE are next to each other
    std::uint64_t width = (UINT64_C(1) << 32) / n + 1; // of a PE's range

    // How many go to and come from each PE, where those of each begin here, and where mine begin there.
    auto to = symmetric<long>(n), from = symmetric<long>(n), starts = symmetric<long>(n), place = symmetric<long>(n);
    for (std::uint32_t number : mine)
        to[number / width]++;
    shmem_alltoall(SHMEM_TEAM_WORLD, from.get(), to.get(), 1);
    for (int pe = 1; pe < n; pe++)
        starts[pe] = starts[pe - 1] + from[pe - 1];
    shmem_alltoall(SHMEM_TEAM_WORLD, place.get(), starts.get(), 1);

    all = starts[n - 1] + from[n - 1];
    shmem_max_reduce(SHMEM_TEAM_WORLD, &most, &all, 1);
    auto sorted = symmetric<std::uint32_t>(most); // the same size on all
    if (!sorted)
        shmem_global_exit(2);
    const std::uint32_t *piece = mine.data();
    for (int pe = 0; pe < n; piece += to[pe++])
        if (to[pe] > 0)
            shmem_put(&sorted[place[pe]], piece, to[pe], pe);
    shmem_barrier_all();
    std::sort(&sorted[0], &sorted[0] + all);

    // In range, and none lost.
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &total, &all, 1);
    auto is_mine = [&](std::uint32_t number) { return number / width == static_cast<std::uint64_t>(me); };
    if (total != numbers * n || !std::all_of(&sorted[0], &sorted[0] + all, is_mine))
        shmem_global_exit(1);
}

int main()
{
    shmem_init();
    sort(); // its blocks are freed before the end
    shmem_finalize();
}
