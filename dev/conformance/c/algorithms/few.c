/* Short blocks of so many PEs that few of them copy for all: strided exchanges, exchanges and collections. */
#include "call.h"

static Group group;

int main(void)
{
    /* Of 4, 8 and 4 bytes an element, with all strides of one and two elements but none. */
    static const unsigned salts[] = {1, 2, 7};
    static const enum kind kinds[] = {ALLTOALLS, ALLTOALL, FCOLLECT};
    shmem_init();
    group_arrays(&group, 1 << 16);
    group_of_team(&group, "world", SHMEM_TEAM_WORLD);
    for (size_t n = 1; n <= 3; n++)
        for (int i = 0; i < 9; i++)
            call(&group, (Call){.kind = kinds[i / 3], .n = n, .salt = salts[i % 3]});
    group_free(&group);
    return finish();
}
