/* Memory that is copied in large pieces several times moves to huge pages, where the kernel can and the user does not
 * forbid it; contents stay, also while other PEs write beside them. */
#define _GNU_SOURCE
#include "check.h"
#include "huge.h"

enum { BLOCK = 4 * MIB, COPIES = 8 };

int main(void)
{
    /* Large, whatever the caches. */
    setenv("SHMEM_NON_TEMPORAL_THRESHOLD", "2m", 1);
    shmem_init();
    const int me = shmem_my_pe(), right = right_of(me), left = left_of(me), can = kernel_can();
    const char *const variable = getenv("SHMEM_HUGE_PAGES");
    const int forbidden = variable != NULL && strcmp(variable, "0") == 0;
    const size_t elements = BLOCK / sizeof(long);

    long *dest = shmem_align(HUGE_PAGE, BLOCK);
    long *beside = shmem_align(HUGE_PAGE, BLOCK);
    long *source = malloc(BLOCK);
    REQUIRE(dest != NULL && beside != NULL && source != NULL);
    memset(dest, 0, BLOCK);
    memset(beside, 0, BLOCK);
    const long before = huge_kilobytes(), refused = huge_pages_refused();
    shmem_barrier_all();

    for (long copy = 1; copy <= COPIES; copy++) {
        for (size_t i = 0; i < elements; i++)
            source[i] = copy * 1000 + me + (long)i;
        /* The last element is written by atomics of all PEs meanwhile. */
        shmem_long_put(dest, source, elements - 1, right);
        for (int i = 0; i < 1000; i++)
            shmem_long_atomic_inc(&dest[elements - 1], (me + i) % shmem_n_pes());
        shmem_barrier_all();
        for (size_t i = 0; i < elements - 1; i++)
            CHECK(dest[i] == copy * 1000 + left + (long)i, "copy %ld, element %zu: %ld", copy, i, dest[i]);
        shmem_barrier_all();
    }
    static long sum;
    shmem_long_atomic_add(&sum, dest[elements - 1], 0);
    shmem_barrier_all();
    CHECK(me != 0 || sum == 1000l * COPIES * shmem_n_pes(), "%ld increments", sum);

    /* Where memory is in pieces, no page may be huge. What was not copied stays where it was, and so does what
     * came from other nodes. */
    const long moved = huge_kilobytes() - before;
    int local = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        local |= shmem_ptr(dest, pe) != NULL && shmem_ptr(dest, right_of(pe)) != NULL;
    if (before == 0 && huge_pages_refused() == refused)
        CHECK((moved > 0) == (can && !forbidden && local), "%ld kB on huge pages, %d", moved, local);
    CHECK(moved <= (long)shmem_n_pes() * (BLOCK / 1024), "%ld kB on huge pages", moved);
    shmem_free(beside);
    shmem_free(dest);
    free(source);
    return finish();
}
