/* An address that the PEs of a group do not have: behind their heap, which is smaller than that of the parents. The
 * first argument is the routine, the second one the PE of the group, the third one the number of its PEs. */
#include "../check.h"

#include <shmemx.h>

enum { MIB = 1 << 20 };

static uint64_t signal_word;

int main(int argc, char **argv)
{
    shmem_init();
    shmemx_group_t group = shmemx_group_parents();
    if (group == SHMEMX_GROUP_INVALID) {
        REQUIRE(argc == 4);
        shmemx_spawn_config_t config = {.sheap_size = 16 * MIB};
        const long mask = SHMEMX_SPAWN_SHEAP_SIZE;
        REQUIRE(shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[0], atoi(argv[3]), &config, mask, &group) == 0);
        long *far = (long *)checked_malloc(5UL << 30) + 4 * MIB;
        long number[4] = {1, 2, 3, 4};
        int pe = shmemx_group_pe(group, atoi(argv[2]));
        const char *way = argv[1];
        shmem_ctx_t ctx;
        REQUIRE(shmemx_group_create_ctx(group, 0, &ctx) == 0);
#define WAY(name, call)          \
    if (strcmp(way, name) == 0) { \
        call;                    \
        shmem_quiet();           \
    }
        WAY("p", shmem_long_p(far, 1, pe))
        WAY("g", number[0] = shmem_long_g(far, pe))
        WAY("put", shmem_long_put(far, number, 1, pe))
        WAY("get", shmem_long_get(number, far, 1, pe))
        WAY("put-many", shmem_putmem(far, far, 8 * MIB, pe))
        WAY("put-nbi", shmem_putmem_nbi(far, number, 8, pe))
        WAY("get-nbi", shmem_getmem_nbi(number, far, 8, pe))
        WAY("iput", shmem_long_iput(far, number, 2, 1, 4, pe))
        WAY("iget", shmem_long_iget(number, far, 1, 2, 4, pe))
        WAY("ibput", shmem_ibput64(far, number, 4, 2, 2, 2, pe))
        WAY("add", shmem_long_atomic_add(far, 1, pe))
        WAY("fetch-add", number[0] = shmem_long_atomic_fetch_add(far, 1, pe))
        WAY("put-signal", shmem_putmem_signal(far, number, 8, &signal_word, 1, SHMEM_SIGNAL_SET, pe))
        WAY("signal", shmem_putmem_signal(&signal_word, number, 8, (uint64_t *)far, 1, SHMEM_SIGNAL_SET, pe))
        WAY("context", shmem_ctx_long_p(ctx, far, 1, atoi(argv[2])))
        /* In the heap of the next PE, if windows were as far apart as the heaps of the children need. */
        WAY("next-pe", shmem_long_p(far + (4UL << 30) / sizeof(long) - 3 * MIB, 1, pe))
        WAY("ptr", CHECK(shmem_ptr(far, pe) == NULL))
        printf("not noticed\n");
    }
    return finish();
}
