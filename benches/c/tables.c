/* Prints by how many KiB the page tables of a PE grow when it stores once into the heap of each PE, and then when it
 * stores once into the globals of each. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static const size_t HUGE_PAGE = (size_t)2 << 20;
static long global;

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
    const int pes = shmem_n_pes();
    char *heap = shmem_align(HUGE_PAGE, 2 * HUGE_PAGE);
    if (!heap) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    memset(heap, 1, 2 * HUGE_PAGE);
    shmem_barrier_all();
    const long before = page_tables();
    for (int pe = 0; pe < pes; pe++)
        shmem_char_p(heap, 2, pe);
    const long heaps = page_tables();
    for (int pe = 0; pe < pes; pe++)
        shmem_long_p(&global, 2, pe);
    const long globals = page_tables();
    shmem_barrier_all();
    printf("%ld %ld\n", heaps - before, globals - heaps);
    shmem_finalize();
    return 0;
}
