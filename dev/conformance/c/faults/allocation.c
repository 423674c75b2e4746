/* Allocation calls that differ between PEs, which must not pass: from then on, the same symmetric
 * address would be in different blocks. Arguments: how the last PE differs, and whether it is late.
 * Equal calls come first, and must pass. */
#include "clock.h"

#include <shmemx.h>
#include <unistd.h>

static int odd;

static void malloc_size(void) { shmem_malloc(odd ? 200 : 100); }
static void hints(void) { shmem_malloc_with_hints(64, odd ? SHMEM_MALLOC_SIGNAL_REMOTE : 0); }
static void calloc_count(void) { shmem_calloc(odd ? 7 : 8, 16); }
static void align_alignment(void) { shmem_align(odd ? 4096 : 1024, 16); }
static void align_size(void) { shmem_align(64, odd ? 1 << 20 : 2); }
static void free_block(void)
{
    void *a = checked_malloc(100), *b = checked_malloc(100);
    shmem_free(odd ? a : b);
}
static void realloc_size(void) { shmem_realloc(checked_malloc(100), odd ? 300 : 400); }
static void routine(void)
{
    void *block = checked_malloc(100);
    if (odd)
        shmem_malloc(100);
    else
        shmem_free(block);
}
static shmemx_space_t space_of(size_t bytes)
{
    shmemx_space_t space;
    shmemx_space_config_t config;
    config.sheap_size = bytes;
    REQUIRE(shmemx_space_create(SHMEM_TEAM_WORLD, &config, SHMEMX_SPACE_SHEAP_SIZE, &space) == 0);
    return space;
}
static void space_size(void) { space_of(odd ? 4096 : 8192); }
static void space_malloc(void) { shmemx_space_malloc(space_of(4096), odd ? 200 : 100); }
static void space_destroy(void)
{
    shmemx_space_t a = space_of(4096), b = space_of(4096);
    shmemx_space_destroy(odd ? a : b);
}
static void order(void)
{
    shmem_malloc(odd ? 1000 : 2000);
    shmem_malloc(odd ? 2000 : 1000);
}
/* The others wait for it, until the job is ended. */
static void never(void)
{
    while (odd)
        pause();
    shmem_malloc(100);
}
static void equal(void) { shmem_free(checked_malloc(100)); }

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"malloc", malloc_size},   {"hints", hints},           {"calloc", calloc_count},
    {"align", align_alignment}, {"align_size", align_size}, {"free", free_block},
    {"realloc", realloc_size}, {"routine", routine},       {"order", order},
    {"never", never},          {"equal", equal},           {"space_size", space_size},
    {"space_malloc", space_malloc}, {"space_destroy", space_destroy},
};

int main(int argc, char **argv)
{
    REQUIRE(argc == 3);
    shmem_init();
    odd = shmem_my_pe() == shmem_n_pes() - 1;
    for (int i = 0; i < 10; i++) {
        void *p = checked_malloc(100 + i);
        p = shmem_realloc(p, 50 + 100 * i);
        shmem_barrier_all();
        shmem_free(p);
        shmem_free(shmem_calloc(3, 5));
        shmem_free(shmem_align(512, 5));
    }
    if (odd && strcmp(argv[2], "late") == 0)
        sleep(1);
    now();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    shmem_barrier_all();
    return finish();
}
