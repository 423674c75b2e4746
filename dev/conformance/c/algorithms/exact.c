/* With SHMEM_REPRODUCIBLE=1: sums are the exact sum, rounded once, whatever the algorithm and
 * whoever has which summand, with zeros on the PEs beyond. */
#include "check.h"

enum { N = 700, MOST = 6 };

static double source[N], sum[N];
static float float_source[N], float_sum[N];

static uint64_t random_of(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
    return x ^ x >> 33;
}

/* Summand `k` of element `i`: an integer of `bits` bits at one of many places. */
static __int128 integer(int i, int k, int bits)
{
    uint64_t r = random_of((uint64_t)i * 64 + (uint64_t)k + 1);
    return (__int128)((int64_t)r >> (64 - bits)) << (r % 23);
}

/* The one that adds a huge number, and the one that takes it away. */
static int adder(int i, int summands) { return (int)(random_of((uint64_t)i) % (unsigned)summands); }
static int taker(int i, int summands) { return (adder(i, summands) + 1) % summands; }

int main(void)
{
    shmem_init();
    int n = shmem_n_pes(), me = shmem_my_pe(), most = n < MOST ? n : MOST;
    for (int summands = 3; summands <= most; summands++) {
        /* Who has which differs from round to round. */
        for (int round = 0; round < 2; round++) {
            int k = (me + round * (n / 2)) % n;
            for (int i = 0; i < N; i++) {
                int plus = adder(i, summands), minus = taker(i, summands);
                int is_one = k < summands && k != plus && k != minus;
                double sign = k == plus ? 1.0 : k == minus ? -1.0 : 0.0;
                source[i] = is_one ? (double)integer(i, k, 53) : sign * 1e300;
                float_source[i] = is_one ? (float)integer(i, k, 24) : (float)sign * 1e30f;
            }
            shmem_barrier_all();
            static const int counts[] = {1, 7, 9, 81, 257, N};
            for (int c = 0; c < 6; c++) {
                int count = counts[c];
                shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, source, (size_t)count);
                shmem_float_sum_reduce(SHMEM_TEAM_WORLD, float_sum, float_source, (size_t)count);
                for (int i = 0; i < count; i++) {
                    __int128 exact = 0, float_exact = 0;
                    for (int j = 0; j < summands; j++)
                        if (j != adder(i, summands) && j != taker(i, summands)) {
                            exact += integer(i, j, 53);
                            float_exact += integer(i, j, 24);
                        }
                    CHECK(sum[i] == (double)exact, "%d summands, %d of %d: %a, not %a", summands, i,
                          count, sum[i], (double)exact);
                    CHECK(float_sum[i] == (float)float_exact, "%d summands, %d of %d: %a", summands,
                          i, count, (double)float_sum[i]);
                }
                shmem_barrier_all();
            }
        }
    }
    return finish();
}
