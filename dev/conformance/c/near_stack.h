/* Where the memory of jobs is mapped. */
#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

/* Whether memory of the job is where an address of the stack would be taken for the window of some PE: a stray access
 * would change it without a fault. */
static inline int near_the_stack(void)
{
    const uintptr_t windows = (uintptr_t)16 << 40;
    uintptr_t stack = (uintptr_t)&windows, start;
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, "memfd:ferroshmem") != NULL && sscanf(line, "%" SCNxPTR, &start) == 1 &&
                 start > stack - windows;
    if (maps != NULL)
        fclose(maps);
    /* Where heaps have low addresses (ThreadSanitizer, valgrind), there is no room elsewhere. */
    char *heap = shmem_malloc(1);
    int is_low = (uintptr_t)heap >> 40 == 0;
    shmem_free(heap);
    return found && !is_low;
}
