/* Prints by how many KiB the page tables of a PE grow when it stores once into the heap of each PE, and then when it
 * stores once into the globals of each; and by how many KiB what it has of huge pages grows by the former. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t HUGE_PAGE = (size_t)2 << 20;
static long global;

/* The KiB of the lines of a file that begin with a name, together. */
static long kib_of(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    char line[4096];
    long kib = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kib += atol(line + strlen(name));
    if (file)
        fclose(file);
    return kib;
}

static long page_tables(void) { return kib_of("/proc/self/status", "VmPTE:"); }

static long huge_pages(void) { return kib_of("/proc/self/smaps", "ShmemPmdMapped:"); }

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
    const long huge_before = huge_pages(), before = page_tables();
    for (int pe = 0; pe < pes; pe++)
        shmem_char_p(heap, 2, pe);
    const long heaps = page_tables();
    for (int pe = 0; pe < pes; pe++)
        shmem_long_p(&global, 2, pe);
    const long globals = page_tables(), huge = huge_pages();
    shmem_barrier_all();
    printf("%ld %ld %ld\n", heaps - before, globals - heaps, huge - huge_before);
    shmem_finalize();
    return 0;
}
