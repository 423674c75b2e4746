/* Two programs: "lend" exports objects, and starts "borrow" (the first argument), which imports them. */
#include "../check.h"

#include <shmemx.h>

#ifdef BORROW

static char other[12345]; /* so that globals are at other places than the lender's */
static long result;

int main(void)
{
    shmem_init();
    shmemx_group_t lenders = shmemx_group_parents();
    REQUIRE(lenders != SHMEMX_GROUP_INVALID);
    shmem_malloc(sizeof other);
    int me = shmem_my_pe(), n = shmemx_group_n_pes(lenders);
    long *table = shmemx_import(lenders, "table", 100 * sizeof(long));
    long *total = shmemx_import(lenders, "total", sizeof(long));
    REQUIRE(table != NULL && total != NULL);
    CHECK(shmemx_import(lenders, "table", 8) == NULL);
    CHECK(shmemx_import(lenders, "chair", 8) == NULL);
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(lenders, i);
        long value = 100 * i + me;
        shmem_long_put(&table[me], &value, 1, pe);
        shmem_long_atomic_add(total, 1, pe);
        CHECK(shmem_long_g(&table[me], pe) == value);
        long *direct = shmem_ptr(total, pe);
        CHECK(direct != NULL && *direct >= 1);
    }
    other[me] = 1;
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &result, &result, 1);
    return finish();
}

#else

static long total;

int main(int argc, char **argv)
{
    shmem_init();
    long *table = shmem_calloc(100, sizeof(long));
    enum { CHILDREN = 3 };
    REQUIRE(argc == 2 && table != NULL);
    CHECK(shmemx_export("table", table, 100 * sizeof(long)) == 0);
    CHECK(shmemx_export("total", &total, sizeof total) == 0);
    CHECK(shmemx_export("chair", &total, sizeof total) == 0);
    CHECK(shmemx_export("total", table, 8) == -1);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        CHECK(shmemx_unexport("chair") == 0 && shmemx_unexport("chair") == -1);
    shmemx_group_t group;
    REQUIRE(shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[1], CHILDREN, NULL, 0, &group) == 0);
    shmemx_group_disconnect(group);
    CHECK(total == CHILDREN, "%ld", total);
    for (int i = 0; i < CHILDREN; i++)
        CHECK(table[i] == 100 * shmem_my_pe() + i, "%ld", table[i]);
    return finish();
}

#endif
