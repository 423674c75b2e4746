/* Short blocks of so many PEs that few of them copy for all: strided exchanges, exchanges and collections. */
#include <shmem.h>
#include <stdlib.h>

#include "check.h"

static int value(int pe, int at)
{
    return pe * 100000 + at;
}

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    for (int n = 1; n <= 3; n++) {
        const int dst = 4 - n, sst = n, all = n * pes;
        int *dest = shmem_malloc((size_t)(all * dst) * sizeof *dest);
        int *source = shmem_malloc((size_t)(all * sst) * sizeof *source);
        for (int i = 0; i < all * dst; i++)
            dest[i] = -1;
        for (int i = 0; i < all * sst; i++)
            source[i] = value(me, i);
        shmem_barrier_all();
        CHECK(shmem_int_alltoalls(SHMEM_TEAM_WORLD, dest, source, dst, sst, (size_t)n) == 0);
        for (int i = 0; i < all * dst; i++)
            CHECK(dest[i] == (i % dst ? -1 : value(i / dst / n, (me * n + i / dst % n) * sst)));
        shmem_barrier_all();
        CHECK(shmem_int_alltoall(SHMEM_TEAM_WORLD, dest, source, (size_t)n) == 0);
        for (int i = 0; i < all; i++)
            CHECK(dest[i] == value(i / n, me * n + i % n));
        shmem_barrier_all();
        CHECK(shmem_int_fcollect(SHMEM_TEAM_WORLD, dest, source, (size_t)n) == 0);
        for (int i = 0; i < all; i++)
            CHECK(dest[i] == value(i / n, i % n));
        shmem_barrier_all();
        shmem_free(source);
        shmem_free(dest);
    }
    shmem_finalize();
    return 0;
}
