/* Contiguous put and get of every size from 0 to 4097 bytes (257 with -DBRIEF) at changing alignments, between
 * symmetric heap, globals and private memory, blocking and non-blocking, to self and to others.
 * Blocks lie one after the other with guard bytes between, so that a byte too many is seen. */
#include "check.h"
#include "sevens.h"

enum { MAX_SIZE = REPEAT(4097, 257), GUARD = 16, FILL = 0xEE };
#define REGION ((size_t)(MAX_SIZE + 1) * (MAX_SIZE / 2 + 2 * GUARD + 16))

static unsigned char global_region[REGION];

static size_t block_offset(int size)
{
    size_t before = (size_t)size * (size_t)(size - 1) / 2 + (size_t)size * 2 * GUARD;
    return before + GUARD + (size_t)((size * 7) & 15);
}

static unsigned char byte_of(int pe, int size, int k)
{
    return (unsigned char)(pe * 131 + size * 17 + k * 7 + 1);
}

static void fill(unsigned char *block, int pe, int size)
{
    memcpy(block, sevens(byte_of(pe, size, 0)), (size_t)size);
}

static void verify(const char *what, const unsigned char *region, int writer)
{
    size_t at = 0;
    for (int size = 0; size <= MAX_SIZE; size++) {
        size_t block = block_offset(size);
        for (; at < block; at++)
            CHECK(region[at] == FILL, "%s: guard before %d bytes is %#x", what, size, region[at]);
        if (memcmp(region + at, sevens(byte_of(writer, size, 0)), (size_t)size) == 0) {
            at += (size_t)size;
            continue;
        }
        for (int k = 0; k < size; k++, at++)
            CHECK(region[at] == byte_of(writer, size, k), "%s: byte %d of %d from PE %d is %#x",
                  what, k, size, writer, region[at]);
    }
    for (; at < REGION; at++)
        CHECK(region[at] == FILL, "%s: guard at the end", what);
}

/* Puts with the routine that fits the size, so that all widths are met. */
static void put_bytes(unsigned char *dest, const unsigned char *source, int size, int pe, int form)
{
    size_t n = (size_t)size;
    if (form == 1)
        shmem_putmem_nbi(dest, source, n, pe);
    else if (form == 2 && size % 16 == 0)
        shmem_put128(dest, source, n / 16, pe);
    else if (form == 2 && size % 8 == 0)
        shmem_put64(dest, source, n / 8, pe);
    else if (form == 2 && size % 4 == 0)
        shmem_put32_nbi(dest, source, n / 4, pe);
    else if (form == 2 && size % 2 == 0)
        shmem_put16(dest, source, n / 2, pe);
    else if (form == 2)
        shmem_put8(dest, source, n, pe);
    else
        shmem_putmem(dest, source, n, pe);
}

static void get_bytes(unsigned char *dest, const unsigned char *source, int size, int pe, int form)
{
    size_t n = (size_t)size;
    if (form == 1)
        shmem_getmem_nbi(dest, source, n, pe);
    else if (form == 2 && size % 16 == 0)
        shmem_get128_nbi(dest, source, n / 16, pe);
    else if (form == 2 && size % 8 == 0)
        shmem_get64(dest, source, n / 8, pe);
    else if (form == 2 && size % 4 == 0)
        shmem_get32(dest, source, n / 4, pe);
    else if (form == 2 && size % 2 == 0)
        shmem_get16(dest, source, n / 2, pe);
    else if (form == 2)
        shmem_get8_nbi(dest, source, n, pe);
    else
        shmem_getmem(dest, source, n, pe);
}

static void put_all(const char *what, unsigned char *region, int distance, int form)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    int target = (me + distance) % n, writer = (me + n - distance % n) % n;
    /* The blocks that form 1 reads stay untouched until the quiet in the barrier. */
    unsigned char *sources = malloc(REGION);
    REQUIRE(sources != NULL);
    memset(region, FILL, REGION);
    shmem_barrier_all();
    for (int size = 0; size <= MAX_SIZE; size++) {
        unsigned char *source = sources + block_offset(size) - (size & 15);
        fill(source, me, size);
        put_bytes(region + block_offset(size), source, size, target, form);
    }
    shmem_barrier_all();
    free(sources);
    verify(what, region, writer);
}

static void get_all(const char *what, unsigned char *region, int distance, int form)
{
    int me = shmem_my_pe(), n = shmem_n_pes();
    int owner = (me + distance) % n;
    unsigned char *got = malloc(REGION);
    REQUIRE(got != NULL);
    memset(got, FILL, REGION);
    memset(region, FILL, REGION);
    for (int size = 0; size <= MAX_SIZE; size++)
        fill(region + block_offset(size), me, size);
    shmem_barrier_all();
    for (int size = 0; size <= MAX_SIZE; size++)
        get_bytes(got + block_offset(size), region + block_offset(size), size, owner, form);
    shmem_quiet();
    verify(what, got, owner);
    shmem_barrier_all();
    free(got);
}

/* Large transfers, beyond every cache and every block size of a copy routine. */
static void large(void)
{
    int me = shmem_my_pe();
    size_t n = (size_t)3 << REPEAT(20, 17);
    uint32_t *source = checked_malloc(n * sizeof *source);
    uint32_t *dest = checked_malloc(n * sizeof *dest);
    for (size_t i = 0; i < n; i++)
        source[i] = (uint32_t)i * 2654435761u + (uint32_t)me;
    shmem_barrier_all();
    shmem_uint32_put(dest, source, n, right_of(me));
    shmem_barrier_all();
    for (size_t i = 0; i < n; i++)
        CHECK(dest[i] == (uint32_t)i * 2654435761u + (uint32_t)left_of(me), "put, element %zu", i);
    shmem_uint32_get(dest, source, n, right_of(me));
    for (size_t i = 0; i < n; i++)
        CHECK(dest[i] == (uint32_t)i * 2654435761u + (uint32_t)right_of(me), "get, element %zu", i);
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}

int main(void)
{
    shmem_init();
    unsigned char *heap_region = checked_malloc(REGION);
    put_all("put, heap", heap_region, 1, 0);
    put_all("put, globals", global_region, 1, 0);
    put_all("put_nbi, heap", heap_region, 2, 1);
    put_all("put of widths, globals", global_region, 2, 2);
    put_all("put to self, heap", heap_region, 0, 0);
    put_all("put to self, globals", global_region, 0, 2);
    get_all("get, heap", heap_region, 1, 0);
    get_all("get, globals", global_region, 1, 0);
    get_all("get_nbi, globals", global_region, 2, 1);
    get_all("get of widths, heap", heap_region, 2, 2);
    get_all("get from self, globals", global_region, 0, 0);
    shmem_free(heap_region);
    large();
    return finish();
}
