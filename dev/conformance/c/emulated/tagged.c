/* Private memory whose addresses have more than 48 bits: operations take and fill it. The C library's has tags, which
   processors check (MTE). With -DHIGH, addresses have 52 bits: the kernel gives them to programs that hint at one. */
#include "check.h"
#include <sys/mman.h>

static char *tagged(size_t bytes)
{
#ifdef HIGH
    char *block = mmap((void *)(1UL << 51), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((uintptr_t)block >> 51 != 1) exit(77); /* This kernel has fewer bits. */
#else
    char *block = malloc(bytes);
    REQUIRE((uintptr_t)block >> 56, "no tag: %p", (void *)block);
#endif
    return block;
}

static long word, sums[2];
static char line[256];

int main(void)
{
    enum { LARGE = 1 << 20 };
    shmem_init();
    int me = shmem_my_pe(), to = (me + 1) % shmem_n_pes();
    int from = (me + shmem_n_pes() - 1) % shmem_n_pes();
    char *all = shmem_malloc(LARGE), *large = tagged(LARGE), *small = tagged(sizeof line);
    long *values = (long *)tagged(4 * sizeof *values);
    CHECK((uintptr_t)all >> 56 == 0, "%p", (void *)all);

    memset(large, me + 1, LARGE);
    memset(small, me + 2, sizeof line);
    shmem_putmem(all, large, LARGE, to);
    shmem_putmem_nbi(line, small, sizeof line, to);
    shmem_long_p(&word, me, to);
    shmem_barrier_all();
    CHECK(all[0] == from + 1 && all[LARGE - 1] == from + 1);
    CHECK(line[0] == from + 2 && line[sizeof line - 1] == from + 2 && word == from);
    shmem_getmem(large, all, LARGE, to);
    shmem_getmem_nbi(small, line, sizeof line, to);
    shmem_long_atomic_fetch_nbi(values, &word, to);
    shmem_quiet();
    CHECK(large[0] == me + 1 && large[LARGE - 1] == me + 1 && small[0] == me + 2 && values[0] == me);

    /* Values to wait for, and indices: the program's own, with tags. */
    int *status = (int *)tagged(2 * sizeof *status);
    size_t *indices = (size_t *)tagged(2 * sizeof *indices);
    memset(status, 0, 2 * sizeof *status);
    shmem_long_atomic_set(&sums[0], 7, to);
    shmem_long_atomic_set(&sums[1], 8, to);
    values[0] = 7, values[1] = 8;
    shmem_long_wait_until_all_vector(sums, 2, status, SHMEM_CMP_EQ, values);
    CHECK(shmem_long_test_some(sums, 2, indices, status, SHMEM_CMP_GT, 7) == 1 && indices[0] == 1);

    shmem_team_t pairs;
    shmem_team_config_t *config = (shmem_team_config_t *)tagged(sizeof *config);
    memset(config, 0, sizeof *config);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), config, 0, &pairs);
    CHECK(shmem_team_n_pes(pairs) == shmem_n_pes());
    shmem_barrier_all();
    shmem_free(all);
    return finish();
}
