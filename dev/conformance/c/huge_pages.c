/* Symmetric memory on huge pages (SHMEM_HUGE_PAGES=1): where the kernel can, blocks of 2 MiB and more are on
 * them as soon as they are allocated; contents are those of any other block. */
#define _GNU_SOURCE
#include "check.h"
#include "huge.h"

enum { BLOCK = 8 * MIB };

static void fill(long *block, size_t elements, int pe)
{
    for (size_t i = 0; i < elements; i++)
        block[i] = pe + (long)i;
}

int main(void)
{
    setenv("SHMEM_HUGE_PAGES", "1", 1);
    shmem_init();
    const int me = shmem_my_pe(), right = right_of(me), can = kernel_can();
    const size_t elements = BLOCK / sizeof(long);
    const long refused = huge_pages_refused();

    long *small = shmem_malloc(MIB);
    long *block = shmem_calloc(elements, sizeof *block);
    REQUIRE(small != NULL && block != NULL);
    /* Where memory is in pieces, no page may be huge. */
    const long huge = huge_kilobytes();
    CHECK(!can || huge > 0 || huge_pages_refused() > refused, "%ld kB", huge);
    for (size_t i = 0; i < elements; i++)
        CHECK(block[i] == 0, "element %zu", i);

    fill(block, elements, me);
    shmem_barrier_all();
    long *copy = malloc(BLOCK);
    shmem_long_get(copy, block, elements, right);
    for (size_t i = 0; i < elements; i++)
        CHECK(copy[i] == right + (long)i, "element %zu of PE %d", i, right);
    shmem_barrier_all();

    /* Elsewhere, and with what was written. */
    long *after = shmem_malloc(64);
    block = shmem_realloc(block, 2 * BLOCK);
    REQUIRE(after != NULL && block != NULL);
    for (size_t i = 0; i < elements; i++)
        CHECK(block[i] == me + (long)i, "element %zu", i);
    shmem_long_p(&block[2 * elements - 1], me, right);
    shmem_barrier_all();
    CHECK(block[2 * elements - 1] == left_of(me), "%ld", block[2 * elements - 1]);

    shmem_free(after);
    shmem_free(block);
    shmem_free(small);
    free(copy);
    return finish();
}
