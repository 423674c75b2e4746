/* Prints the memory of an idle PE in KiB: `private` memory without the symmetric heap, page
 * `tables`, and the `resident` part of a large untouched allocation; and how many `mappings` it has of the
 * job's memory. */
#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static const size_t UNTOUCHED = (size_t)256 << 20;

static int is_heap(const char *heap, uintptr_t start, uintptr_t end)
{
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        const uintptr_t window = (uintptr_t)shmem_ptr(heap, pe);
        if (start <= window && window < end)
            return 1;
    }
    return 0;
}

static long page_tables(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmPTE: %ld kB", &kib);
    if (status)
        fclose(status);
    return kib;
}

int main(void)
{
    shmem_init();
    char *heap = shmem_malloc(UNTOUCHED);
    shmem_barrier_all();
    FILE *maps = fopen("/proc/self/smaps", "r");
    if (!maps || !heap) {
        fprintf(stderr, "no %s\n", heap ? "/proc/self/smaps" : "memory");
        return 1;
    }
    char line[4096];
    long private = 0, resident = 0;
    int heap_line = 0, mappings = 0;
    while (fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        long kib;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2)
            heap_line = is_heap(heap, start, end), mappings += strstr(line, "memfd:ferroshmem") != NULL;
        else if (heap_line && sscanf(line, "Rss: %ld kB", &kib) == 1)
            resident += kib;
        else if (!heap_line && (sscanf(line, "Private_Clean: %ld kB", &kib) == 1 ||
                                sscanf(line, "Private_Dirty: %ld kB", &kib) == 1))
            private += kib;
    }
    fclose(maps);
    printf("private %ld tables %ld resident %ld mappings %d\n", private, page_tables(), resident,
           mappings);
    shmem_barrier_all();
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
