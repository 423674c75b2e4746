/* Symmetric memory on huge pages (SHMEM_HUGE_PAGES=1): where the kernel can, blocks of 2 MiB and more are on
 * them as soon as they are allocated; contents are those of any other block. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { MIB = 1 << 20, HUGE_PAGE = 2 * MIB, BLOCK = 8 * MIB };

/* Whether the kernel puts shared memory on huge pages on demand. */
static int kernel_can(void)
{
    int file = memfd_create("probe", 0);
    REQUIRE(file >= 0 && ftruncate(file, HUGE_PAGE) == 0);
    char *room = mmap(NULL, 2 * HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(room != MAP_FAILED);
    char *at = room + (HUGE_PAGE - (uintptr_t)room % HUGE_PAGE) % HUGE_PAGE;
    at = mmap(at, HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    REQUIRE(at != MAP_FAILED);
    *at = 1;
    int can = madvise(at, HUGE_PAGE, MADV_COLLAPSE) == 0;
    munmap(room, 2 * HUGE_PAGE);
    close(file);
    return can;
}

/* Kilobytes of this process's shared memory that are mapped as huge pages. */
static long huge_kilobytes(void)
{
    FILE *smaps = fopen("/proc/self/smaps", "r");
    REQUIRE(smaps != NULL);
    long sum = 0, kilobytes;
    for (char line[512]; fgets(line, sizeof line, smaps) != NULL;)
        if (sscanf(line, "ShmemPmdMapped: %ld", &kilobytes) == 1)
            sum += kilobytes;
    fclose(smaps);
    return sum;
}

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

    long *small = shmem_malloc(MIB);
    long *block = shmem_calloc(elements, sizeof *block);
    REQUIRE(small != NULL && block != NULL);
    /* Where memory is in pieces, not all pages can be huge. */
    CHECK(!can || huge_kilobytes() > 0, "%ld kB", huge_kilobytes());
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
    shmem_finalize();
    return check_status();
}
