/* Huge pages, as the kernel gives them. Included after check.h. */
#ifndef HUGE_H
#define HUGE_H

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { MIB = 1 << 20, HUGE_PAGE = 2 * MIB };

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

/* How often the kernel found no memory for a huge page since the machine started: its memory is in pieces then. */
static long huge_pages_refused(void)
{
    FILE *events = fopen("/proc/vmstat", "r");
    REQUIRE(events != NULL);
    long refused = 0;
    for (char line[128]; fgets(line, sizeof line, events) != NULL;)
        sscanf(line, "thp_collapse_alloc_failed %ld", &refused);
    fclose(events);
    return refused;
}

#endif
