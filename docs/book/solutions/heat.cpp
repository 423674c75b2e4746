// A heat equation in one dimension, as a port from MPI: Sendrecv has become puts with signals, and Allreduce a
// reduction.
#include <algorithm>
#include <array>
#include <cmath>
#include <shmem.h>

constexpr int points = 64; // of each PE

std::array<double, points + 2> u[2]; // by turns, with a halo at both ends: symmetric, so that neighbours put there
uint64_t arrived[2];
double change, largest;

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), step = 0;
    bool is_first = me == 0, is_last = me == n - 1;
    if (is_first)
        u[0][1] = u[1][1] = 1; // the hot end
    shmem_barrier_all();
    do {
        auto &now = u[step % 2], &next = u[(step + 1) % 2];
        uint64_t *signal = &arrived[step % 2];
        if (!is_first)
            shmem_put_signal(&now[points + 1], &now[1], 1, signal, 1, SHMEM_SIGNAL_ADD, me - 1);
        if (!is_last)
            shmem_put_signal(&now[0], &now[points], 1, signal, 1, SHMEM_SIGNAL_ADD, me + 1);
        uint64_t neighbours = !is_first + !is_last;
        shmem_signal_wait_until(signal, SHMEM_CMP_GE, (step / 2 + 1) * neighbours);
        change = 0;
        for (int i = 1; i <= points; i++) {
            bool is_end = (is_first && i == 1) || (is_last && i == points);
            next[i] = is_end ? now[i] : now[i] + (now[i - 1] - 2 * now[i] + now[i + 1]) / 4;
            change = std::max(change, std::abs(next[i] - now[i]));
        }
        // All PEs learn the largest change, and none is a step ahead.
        shmem_max_reduce(SHMEM_TEAM_WORLD, &largest, &change, 1);
        step++;
    } while (largest > 1e-4 && step < 10000);
    const auto &last = u[step % 2];
    if (step == 10000 || (is_first && (last[1] != 1 || last[2] > 1 || last[2] < 0.9)))
        shmem_global_exit(1);
    shmem_finalize();
}
