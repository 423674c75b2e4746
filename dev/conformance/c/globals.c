/* Global and static variables are symmetric: initialised values survive shmem_init, every kind
 * of variable can be the target of every kind of access, and what is not symmetric is not. */
#include "check.h"

static int initialised = 4711;
static const char *pointer_to_text = "kept";
static int *pointer_to_global = &initialised;
static int (*pointer_to_function)(const char *) = puts;
static double table[5] = {1.5, 2.5, 3.5, 4.5, 5.5};
static const int *const pointer_table[2] = {&initialised, &initialised}; /* made read-only by RELRO */
static __attribute__((aligned(4096))) long page_aligned[2] = {-1, -2};
static char large[48 << 20]; /* .bss, larger than any cache */
int common;
static _Thread_local int thread_local_value = 5;
static long before_init;

static int *counter_in_function(void)
{
    static int counter = 100;
    return &counter;
}

static void kept(void)
{
    CHECK(initialised == 4711, "%d", initialised);
    CHECK(strcmp(pointer_to_text, "kept") == 0);
    CHECK(pointer_to_global == &initialised && *pointer_to_global == 4711);
    CHECK(pointer_to_function == puts);
    CHECK(table[4] == 5.5);
    CHECK(pointer_table[1] == &initialised);
    CHECK(page_aligned[0] == -1 && page_aligned[1] == -2);
    CHECK(((uintptr_t)page_aligned & 4095) == 0);
    CHECK(before_init == 12345, "set before shmem_init: %ld", before_init);
    CHECK(common == 77);
    CHECK(large[0] == 1 && large[sizeof large - 1] == 2 && large[sizeof large / 2] == 0);
    CHECK(*counter_in_function() == 101);
}

static void exchanged(void)
{
    int me = shmem_my_pe(), to = right_of(me), from = left_of(me);
    shmem_barrier_all();
    shmem_int_p(&initialised, 1000 + me, to);
    shmem_int_p(&common, 2000 + me, to);
    shmem_double_p(&table[4], 0.5 + me, to);
    shmem_long_p(&page_aligned[1], 3000 + me, to);
    shmem_int_p(counter_in_function(), 4000 + me, to);
    shmem_putmem(large + sizeof large - 8, "ABCDEFG", 8, to);
    shmem_putmem(large + sizeof large / 2, &(char){(char)(me + 1)}, 1, to);
    shmem_barrier_all();
    CHECK(initialised == 1000 + from, "%d", initialised);
    CHECK(*pointer_to_global == 1000 + from);
    CHECK(common == 2000 + from, "%d", common);
    CHECK(table[4] == 0.5 + from && table[3] == 4.5);
    CHECK(page_aligned[1] == 3000 + from && page_aligned[0] == -1);
    CHECK(*counter_in_function() == 4000 + from);
    CHECK(memcmp(large + sizeof large - 8, "ABCDEFG", 8) == 0);
    CHECK(large[sizeof large / 2] == (char)(from + 1));
    shmem_barrier_all();
    CHECK(shmem_int_g(&initialised, to) == 1000 + me);
    CHECK(shmem_int_atomic_fetch_add(&common, 1, to) == 2000 + me);
    shmem_barrier_all();
    CHECK(common == 2001 + from);
}

static void not_symmetric(void)
{
    int on_stack = 0;
    int *private_heap = malloc(sizeof *private_heap);
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        CHECK(shmem_addr_accessible(&initialised, pe) == 1);
        CHECK(shmem_addr_accessible(&common, pe) == 1);
        CHECK(shmem_addr_accessible(large + sizeof large - 1, pe) == 1);
        CHECK(shmem_addr_accessible(counter_in_function(), pe) == 1);
        CHECK(shmem_addr_accessible(&thread_local_value, pe) == 0);
        CHECK(shmem_addr_accessible(&on_stack, pe) == 0);
        CHECK(shmem_addr_accessible(private_heap, pe) == 0);
        CHECK(shmem_addr_accessible(NULL, pe) == 0);
        CHECK(shmem_ptr(&thread_local_value, pe) == NULL);
        CHECK(shmem_pe_accessible(pe) == 1);
    }
    CHECK(shmem_pe_accessible(-1) == 0);
    CHECK(shmem_pe_accessible(shmem_n_pes()) == 0);
    free(private_heap);
}

int main(void)
{
    before_init = 12345;
    common = 77;
    large[0] = 1;
    large[sizeof large - 1] = 2;
    *counter_in_function() += 1;
    printf("text that stdio still buffers"); /* must come out once */
    shmem_init();
    kept();
    exchanged();
    not_symmetric();
    CHECK(thread_local_value == 5);
    shmem_finalize();
    /* What was written while symmetric stays after the library is gone. */
    CHECK(table[3] == 4.5);
    printf(", once\n");
    return check_status();
}
