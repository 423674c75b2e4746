/* Two jobs that have PEs on the same hosts, and others on different ones: what is reached by loads and stores and what
 * by the fabric is one memory. The first argument says what this job does; the text of the port goes through the file
 * that the second one names. */
#include "port.h"
#include "way.h"

#include <sched.h>
#include <signal.h>

enum { PES = 128, UPDATES = 300, TURNS = 5 };

static long words[PES], counter, lock, guarded, flag;
static uint64_t signal_word;
static unsigned host;

/* Whether an address of this process is mapped. */
static int is_mapped(void *at)
{
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2)
            found |= begin <= (unsigned long)at && (unsigned long)at < end;
    }
    fclose(maps);
    return found;
}

/* Mappings of memory that is shared with other processes. Others come and go with the threads that use malloc. */
static int mappings(void)
{
    char line[4096], shared;
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL)
        n += sscanf(line, "%*x-%*x %*3c%c", &shared) == 1 && shared == 's';
    fclose(maps);
    return n;
}

/* Whether inlined operations find a PE in the table of words. */
static int is_inlined(int pe)
{
    uintptr_t tag = (uintptr_t)shmemi_native.tag[(unsigned)pe % SHMEMI_PES];
    return (uint32_t)tag == ((uint32_t)pe | (SHMEMI_PES - 1));
}

static int has_fast_path(void)
{
    return getenv("SHMEM_CHECK") == NULL && getenv("SHMEM_FAST_PATH") == NULL;
}

/* Which PEs of the other group are on this host: those and no others are reached by loads and stores. */
static int find_local(shmemx_group_t group, int n, long *heap, long **local)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        unsigned there;
        shmem_uint_get(&there, &host, 1, pe);
        local[i] = shmem_ptr(words, pe);
        long *in_heap = shmem_ptr(heap, pe);
        CHECK((local[i] != NULL) == (there == host), "PE %d of the group", i);
        CHECK((in_heap != NULL) == (there == host), "PE %d of the group", i);
        CHECK(is_inlined(pe) == (there == host && has_fast_path()), "PE %d of the group", i);
        if (local[i] == NULL)
            continue;
        unsigned *seen = shmem_ptr(&host, pe);
        CHECK(seen != NULL && *seen == host && local[i] != words && in_heap != heap);
        CHECK(is_mapped(local[i]) && is_mapped(in_heap));
        found++;
    }
    return found;
}

static void exchange(shmemx_group_t group, int me, int first, int n, long *heap, long **local)
{
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        long value = 2000 + me;
        if (local[i] != NULL)
            local[i][me] = 1000 + me;
        else
            shmem_long_p(&words[me], 1000 + me, pe);
        shmem_long_put(&heap[me], &value, 1, pe);
    }
    shmemx_group_barrier(group);
    for (int i = first; i < first + n; i++)
        CHECK(words[i] == 1000 + i && heap[i] == 2000 + i, "%ld, %ld", words[i], heap[i]);
    words[me] = 3000 + me;
    heap[me] = 4000 + me;
    shmemx_group_sync(group);
    for (int i = 0; i < n; i++) {
        int pe = shmemx_group_pe(group, i);
        long seen = shmem_long_g(&words[first + i], pe), got;
        shmem_long_get(&got, &heap[first + i], 1, pe);
        CHECK(seen == 3000 + first + i && got == 4000 + first + i, "%ld, %ld", seen, got);
        if (local[i] != NULL)
            CHECK(local[i][first + i] == seen, "%ld", local[i][first + i]);
    }
    shmemx_group_sync(group);
}

/* All PEs of both groups update words of the first PE of each group: from its host, by the CPU, and from others. */
static void update(shmemx_group_t group, int n, long **local)
{
    int to[2] = {0, shmemx_group_pe(group, 0)};
    long *there = local[0] == NULL ? NULL : shmem_ptr(&counter, to[1]);
    for (int k = 0; k < UPDATES; k++)
        for (int side = 0; side < 2; side++) {
            shmem_long_atomic_inc(&counter, to[side]);
            CHECK(shmem_long_atomic_fetch_add(&counter, 2, to[side]) >= 0);
            if (side == 1 && there != NULL)
                __atomic_fetch_add(there, 4, __ATOMIC_RELAXED);
            else
                shmem_long_atomic_add(&counter, 4, to[side]);
        }
    /* A lock that all take by the same operation, whichever way that goes. */
    for (int turn = 0; turn < TURNS; turn++)
        for (int side = 0; side < 2; side++) {
            while (shmem_long_atomic_compare_swap(&lock, 0, 1, to[side]) != 0)
                sched_yield();
            long seen = shmem_long_g(&guarded, to[side]);
            shmem_long_p(&guarded, seen + 1, to[side]);
            shmem_quiet();
            CHECK(shmem_long_atomic_swap(&lock, 0, to[side]) == 1);
        }
    shmemx_group_barrier(group);
    if (shmem_my_pe() == 0) {
        long all = n + shmem_n_pes();
        CHECK(counter == 7L * UPDATES * all, "%ld of %ld", counter, 7L * UPDATES * all);
        CHECK(guarded == (long)TURNS * all, "%ld of %ld", guarded, (long)TURNS * all);
    }
    shmemx_group_sync(group);
}

/* The PEs of one group wait for something that PEs of the other one do late, in four ways. */
static void wake(shmemx_group_t group, int wakes, int n, long **local)
{
    for (int round = 1; round <= 4; round++) {
        if (!wakes) {
            if (round == 3)
                shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 3);
            else
                shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        } else {
            usleep(20000);
            for (int i = shmem_my_pe(); i < n; i += shmem_n_pes()) {
                int pe = shmemx_group_pe(group, i);
                long value = round;
                if (round == 1)
                    shmem_long_p(&flag, value, pe);
                else if (round == 2)
                    shmem_long_atomic_set(&flag, value, pe);
                else if (round == 3)
                    shmem_long_put_signal(&guarded, &value, 1, &signal_word, 3, SHMEM_SIGNAL_SET, pe);
                else if (local[i] != NULL)
                    *(volatile long *)shmem_ptr(&flag, pe) = value;
                else
                    shmem_long_put_nbi(&flag, &value, 1, pe);
                shmem_quiet();
            }
        }
        shmemx_group_sync(group);
    }
    flag = 0, signal_word = 0;
    shmemx_group_sync(group);
}

/* Bytes that this host has sent to itself over the network. */
static long loopback(void)
{
    char line[512];
    long bytes = -1;
    FILE *devices = fopen("/proc/net/dev", "r");
    REQUIRE(devices != NULL);
    while (fgets(line, sizeof line, devices) != NULL)
        sscanf(line, " lo: %ld", &bytes);
    fclose(devices);
    REQUIRE(bytes >= 0);
    return bytes;
}

/* PEs of one host, of one group or both, synchronise without a message over its network, of which the least has
 * more than 60 bytes. */
static void synchronise(shmemx_group_t group)
{
    enum { TIMES = 200, LEAST = 60 };
    shmemx_group_barrier(group);
    /* What came before is acknowledged. */
    usleep(100000);
    shmemx_group_sync(group);
    long before = loopback();
    for (int i = 0; i < TIMES; i++)
        shmemx_group_sync(group);
    long sent = loopback() - before;
    CHECK(sent < TIMES * LEAST, "%ld bytes have gone over the network of this host", sent);
    shmemx_group_barrier(group);
}

/* Both groups exchange and reduce arrays; what comes from PEs of one host does not go over the network. */
static void collectives(shmemx_group_t group, int me, int first, int n)
{
    enum { COUNT = 1 << 15, ROUNDS = 3 };
    size_t bytes = COUNT * sizeof(long);
    long *source = shmem_malloc(bytes), *dest = shmem_malloc(PES * bytes / 8);
    REQUIRE(source != NULL && dest != NULL);
    for (int i = 0; i < COUNT; i++)
        source[i] = 1000 * i + me;
    shmemx_group_barrier(group);
    long before = loopback();
    for (int round = 0; round < ROUNDS; round++) {
        memset(dest, 0, bytes);
        REQUIRE(shmemx_long_group_sum_reduce(group, dest, source, COUNT) == 0);
        long members = (long)n * first + (long)n * (n - 1) / 2;
        for (int i = 0; i < COUNT; i += 1001)
            CHECK(dest[i] == 1000L * i * n + members, "[%d]: %ld", i, dest[i]);
    }
    REQUIRE(shmemx_group_fcollectmem(group, dest, bytes / 8, source, bytes / 8) == 0);
    for (int i = 0; i < n * (COUNT / 8); i += 501)
        CHECK(dest[i] == 1000L * (i % (COUNT / 8)) + first + i / (COUNT / 8), "[%d]: %ld", i, dest[i]);
    long sent = loopback() - before;
    CHECK(sent < (long)bytes, "%ld bytes have gone over the network of this host", sent);
    shmemx_group_sync(group);
    shmem_free(dest);
    shmem_free(source);
}

/* Memory that PEs of other nodes may reach is not given back: what the space of a team has held must not be in a block
 * that is to be zero. It was at the end of the heap. */
static void leave_space(void)
{
    enum { HEAP = 8 << 20, SPACE = 1 << 20, USED = 64 << 10 };
    shmem_team_t one;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &one);
    if (one != SHMEM_TEAM_INVALID) {
        shmemx_space_t space;
        shmemx_space_config_t config;
        config.sheap_size = SPACE;
        REQUIRE(shmemx_space_create(one, &config, SHMEMX_SPACE_SHEAP_SIZE, &space) == 0);
        memset(shmemx_space_malloc(space, SPACE), 1, SPACE);
        shmemx_space_destroy(space);
    }
    char *rest = shmem_calloc(HEAP - USED, 1);
    REQUIRE(rest != NULL);
    for (int i = 0; i < HEAP - USED; i++)
        REQUIRE(rest[i] == 0, "[%d]", i);
    shmem_free(rest);
}

/* Connects and disconnects: nothing of a group is left mapped. */
static void rounds(int accepts, const char *port, int times)
{
    int before = 0;
    for (int i = 0; i < times; i++) {
        shmemx_group_t group;
        void *local[PES];
        meet_at(accepts, port, 0, &group);
        int n = shmemx_group_n_pes(group);
        for (int pe = 0; pe < n; pe++) {
            local[pe] = shmem_ptr(&counter, shmemx_group_pe(group, pe));
            CHECK(local[pe] == NULL || is_mapped(local[pe]));
        }
        shmemx_group_disconnect(group);
        for (int pe = 0; pe < n; pe++)
            CHECK(local[pe] == NULL || !is_mapped(local[pe]), "PE %d is still mapped", pe);
        if (i == 2)
            before = mappings();
    }
    CHECK(before > 0 && mappings() <= before, "%d mappings, %d before", mappings(), before);
}

int main(int argc, char **argv)
{
    static long *local[PES];
    char port[SHMEMX_MAX_PORT_NAME] = "";
    shmemx_group_t group;
    REQUIRE(argc >= 3);
    way = argv[1];
    shmem_init();
    host = this_host();
    long *heap = shmem_calloc(PES, sizeof(long));
    int accepts = has("accept");
    if (shmem_my_pe() == 0)
        find_port(accepts, argv[2], port);
    shmem_barrier_all();
    if (has("late") && shmem_my_pe() == shmem_n_pes() - 1)
        sleep(1);
    if (has("rounds")) {
        rounds(accepts, port, 8);
        return finish();
    }
    meet_at(accepts, port, 0, &group);
    int n = shmemx_group_n_pes(group), first = accepts ? shmem_n_pes() : 0;
    int me = shmem_my_pe() + (accepts ? 0 : n);
    REQUIRE(n + shmem_n_pes() <= PES);
    int found = find_local(group, n, heap, local);
    printf("%d of %d are local\n", found, n);
    fflush(stdout);
    exchange(group, me, first, n, heap, local);
    if (has("fail")) {
        if (has("crash") && shmem_my_pe() == shmem_n_pes() - 1)
            raise(SIGSEGV);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    }
    update(group, n, local);
    wake(group, accepts, n, local);
    wake(group, !accepts, n, local);
    synchronise(group);
    collectives(group, me, first, n);
    if (has("space"))
        leave_space();
    shmemx_group_disconnect(group);
    for (int i = 0; i < n; i++)
        CHECK(local[i] == NULL || !is_mapped(local[i]), "PE %d is still mapped", i);
    return finish();
}
