// Smooths an array that is divided among the PEs, with halos of one element on both sides.
#include <cmath>
#include <shmem.h>
#include <utility>
#include <vector>

constexpr long points = 1000;
constexpr int steps = 200;

// What comes from one neighbour: an element for even and one for odd steps, and the number of the last step.
struct Halo {
    double element[2];
    uint64_t step;

    void send(double value, uint64_t now, int pe)
    {
        shmem_put_signal(&element[now % 2], &value, 1, &step, now + 1, SHMEM_SIGNAL_SET, pe);
    }
    double receive(uint64_t now)
    {
        shmem_signal_wait_until(&step, SHMEM_CMP_GE, now + 1);
        return element[now % 2];
    }
};

Halo from_left, from_right; // symmetric, as all global variables

// A part of the array: its elements, from the first one on, between two for the halo.
struct Part {
    long first;
    std::vector<double> elements;

    Part(long first, long n) : first(first), elements(n + 2)
    {
        for (long i = 0; i < n; i++)
            elements[i + 1] = (first + i) % 10;
    }
    long size() const { return static_cast<long>(elements.size()) - 2; }

    // One step; the ends of the whole array stay as they are.
    void smooth()
    {
        std::vector<double> next(elements);
        for (long i = 1; i <= size(); i++) {
            long place = first + i - 1;
            if (place != 0 && place != points - 1)
                next[i] = (elements[i - 1] + elements[i + 1]) / 2;
        }
        elements = std::move(next);
    }
};

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long first = points * me / n;
    Part mine(first, points * (me + 1) / n - first);
    for (int step = 0; step < steps; step++) {
        if (me > 0)
            from_right.send(mine.elements[1], step, me - 1);
        if (me < n - 1)
            from_left.send(mine.elements[mine.size()], step, me + 1);
        if (me > 0)
            mine.elements.front() = from_left.receive(step);
        if (me < n - 1)
            mine.elements.back() = from_right.receive(step);
        mine.smooth();
    }

    Part whole(0, points); // the same by one PE
    for (int step = 0; step < steps; step++)
        whole.smooth();
    for (long i = 1; i <= mine.size(); i++)
        if (std::abs(mine.elements[i] - whole.elements[first + i]) > 1e-12)
            shmem_global_exit(1);
    shmem_finalize();
}
