/* Symmetric spaces and hints of allocation: memory of spaces is symmetric memory for all routines, and is where its
 * kind says, whoever touches it first; a space is freed whole; teams have spaces of their own. On a machine with
 * several NUMA nodes the kernel is asked for the node of each page. Arguments: the nodes of high-bandwidth and of
 * slower memory that the machine is known to have (-1: none). */
#define _GNU_SOURCE
#include "check.h"

#include <sched.h>
#include <shmemx.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, SPACE = 64 * PAGE, MOST_NODES = 64 };

static int me, n, right, left;
/* NUMA nodes with memory, and that of this PE if it is bound to one. */
static int nodes[MOST_NODES], n_nodes, home = -1;

/* The node of a page, or less than 0 if this PE has not touched it. */
static int node_of_touched(const void *at)
{
    void *page = (void *)((uintptr_t)at / PAGE * PAGE);
    int status = -1;
    if (syscall(SYS_move_pages, 0, 1L, &page, NULL, &status, 0) != 0)
        return -1;
    return status;
}

/* The node of a page: that on which it is, if a PE has touched it before. */
static int node_of(const void *at)
{
    (void)*(const volatile char *)at;
    return node_of_touched(at);
}

/* Calls `use` for each number of a list such as 0-3,8. */
static void each(const char *path, void (*use)(int))
{
    char text[4096] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    fclose(file);
    for (char *part = strtok(text, ","); part != NULL; part = strtok(NULL, ",")) {
        int first, last, got = sscanf(part, "%d-%d", &first, &last);
        for (int i = first; got > 0 && i <= (got == 2 ? last : first); i++)
            use(i);
    }
}

static void add_node(int node)
{
    if (n_nodes < MOST_NODES)
        nodes[n_nodes++] = node;
}

static cpu_set_t mask;
static int cpus_here;

static void count_cpu(int cpu)
{
    cpus_here += CPU_ISSET(cpu, &mask) != 0;
}

static void look_at_machine(void)
{
    each("/sys/devices/system/node/has_memory", add_node);
    REQUIRE(sched_getaffinity(0, sizeof mask, &mask) == 0);
    for (int i = 0; i < n_nodes; i++) {
        char path[100];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", nodes[i]);
        cpus_here = 0;
        each(path, count_cpu);
        if (cpus_here == CPU_COUNT(&mask))
            home = nodes[i];
    }
    /* Where containers forbid it, memory is where it is touched first. */
    unsigned long allowed[16];
    if (syscall(SYS_get_mempolicy, NULL, allowed, sizeof allowed * 8 + 1, 0L, 4L) != 0)
        n_nodes = 1;
}

/* All PEs must have got the same address. */
static void same_everywhere(const void *p)
{
    static uintptr_t mine, others[64];
    mine = (uintptr_t)p;
    shmem_barrier_all();
    shmem_fcollectmem(SHMEM_TEAM_WORLD, others, &mine, sizeof mine);
    for (int pe = 0; pe < n; pe++)
        CHECK(others[pe] == mine, "PE %d has %#lx, I have %#lx", pe, (long)others[pe], (long)mine);
    shmem_barrier_all();
}

static shmemx_space_config_t of_kind(int memkind, int numa_domain)
{
    shmemx_space_config_t config = {.sheap_size = SPACE, .memkind = memkind, .numa_domain = numa_domain};
    return config;
}

static const long MASK = SHMEMX_SPACE_SHEAP_SIZE | SHMEMX_SPACE_MEMKIND | SHMEMX_SPACE_NUMA_DOMAIN |
                         SHMEMX_SPACE_PGSIZE | SHMEMX_SPACE_FALLBACK;

/* A space over all PEs; SHMEMX_SPACE_INVALID if a PE cannot have it. */
static shmemx_space_t create(shmemx_space_config_t config)
{
    shmemx_space_t space = (shmemx_space_t)&space;
    int rc = shmemx_space_create(SHMEM_TEAM_WORLD, &config, MASK, &space);
    CHECK((rc == 0) == (space != SHMEMX_SPACE_INVALID), "%d", rc);
    same_everywhere(space);
    return space;
}

/* Memory of a space is as that of the heap. */
static void is_symmetric(void)
{
    shmemx_space_config_t config;
    shmemx_space_t space = SHMEMX_SPACE_INVALID;
    config.sheap_size = SPACE;
    REQUIRE(shmemx_space_create(SHMEM_TEAM_WORLD, &config, SHMEMX_SPACE_SHEAP_SIZE, &space) == 0);
    long *words = shmemx_space_calloc(space, 1000, sizeof *words);
    long *sum = shmemx_space_align(space, 1024, sizeof *sum);
    REQUIRE(words != NULL && sum != NULL && (uintptr_t)sum % 1024 == 0);
    same_everywhere(words);
    for (int i = 0; i < 1000; i++)
        CHECK(words[i] == 0, "word %d", i);
    shmem_barrier_all();
    shmem_long_p(&words[1], me, right);
    shmem_long_atomic_add(&words[2], 1, 0);
    shmem_barrier_all();
    CHECK(words[1] == left, "%ld", words[1]);
    CHECK(me != 0 || words[2] == n, "%ld", words[2]);
    CHECK(shmem_long_g(&words[1], right) == me);
    CHECK(shmem_addr_accessible(words, right));
    long *there = shmem_ptr(words, right);
    CHECK(there == NULL || there[1] == me);
    words[3] = me;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, &words[3], 1);
    CHECK(*sum == (long)n * (n - 1) / 2, "%ld", *sum);
    shmem_barrier_all();

    CHECK(shmemx_space_malloc(space, SPACE) == NULL);
    CHECK(shmemx_space_malloc(space, 0) == NULL);
    char *rest = shmemx_space_malloc(space, SPACE / 2);
    REQUIRE(rest != NULL);
    memset(rest, 1, SPACE / 2);
    shmemx_space_free(space, NULL);
    shmemx_space_free(space, rest);
    rest = shmemx_space_calloc(space, SPACE / 2, 1);
    REQUIRE(rest != NULL);
    for (int i = 0; i < SPACE / 2; i++)
        REQUIRE(rest[i] == 0, "byte %d of %d", i, SPACE / 2);
    shmemx_space_free(space, rest);
    shmemx_space_free(space, words);
    shmemx_space_free(space, sum);
    rest = shmemx_space_malloc(space, SPACE);
    CHECK(rest != NULL, "all of the space");
    shmemx_space_destroy(space);
    shmemx_space_destroy(SHMEMX_SPACE_INVALID);

    /* What was in use by the space is the heap's again. */
    for (int i = 0; i < REPEAT(50, 5); i++) {
        space = create(of_kind(SHMEMX_MEM_DEFAULT, 0));
        REQUIRE(space != SHMEMX_SPACE_INVALID);
        char *block = shmemx_space_calloc(space, SPACE, 1);
        REQUIRE(block != NULL && block[0] == 0 && block[SPACE - 1] == 0);
        memset(block, i + 1, SPACE);
        shmemx_space_destroy(space);
        char *of_heap = shmem_calloc(SPACE / 2, 1);
        REQUIRE(of_heap != NULL && of_heap[0] == 0 && of_heap[SPACE / 2 - 1] == 0);
        same_everywhere(of_heap);
        shmem_free(of_heap);
    }
}

/* All of a space, of which the neighbour touches each page first. */
static char *touched_by_neighbour(shmemx_space_t space)
{
    char *block = shmemx_space_malloc(space, SPACE);
    REQUIRE(block != NULL);
    for (int i = 0; i < SPACE; i += PAGE)
        shmem_char_p(block + i, 1, right);
    shmem_barrier_all();
    return block;
}

static int pages_on(const char *block, int node)
{
    int pages = 0;
    for (int i = 0; i < SPACE; i += PAGE)
        pages += node_of(block + i) == node;
    return pages;
}

/* A strict space: where it can be had, all pages are on `node` of this PE. */
static int is_on(shmemx_space_config_t config, int node)
{
    shmemx_space_t space = create(config);
    if (space == SHMEMX_SPACE_INVALID)
        return 0;
    char *block = touched_by_neighbour(space);
    if (n_nodes > 1)
        CHECK(pages_on(block, node) == SPACE / PAGE, "kind %d: %d of %d pages on node %d", config.memkind,
              pages_on(block, node), SPACE / PAGE, node);
    shmem_barrier_all();
    shmemx_space_destroy(space);
    return 1;
}

/* Whether all PEs are well off. */
static int all(int mine)
{
    static int source, dest;
    source = mine;
    shmem_barrier_all();
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &dest, &source, 1);
    int result = dest;
    shmem_barrier_all();
    return result;
}

static void kinds(int fast, int slow)
{
    const int bound = all(home >= 0);
    CHECK(is_on(of_kind(SHMEMX_MEM_LOCAL, 0), home) || (n_nodes > 1 && !bound));
    CHECK(is_on(of_kind(SHMEMX_MEM_LOW_LAT, 0), home) || (n_nodes > 1 && !bound));
    for (int i = 0; i < n_nodes; i++)
        CHECK(is_on(of_kind(SHMEMX_MEM_NUMA, nodes[i]), nodes[i]), "node %d", nodes[i]);
    /* Each PE may name its own. */
    int mine = nodes[me % n_nodes];
    CHECK(is_on(of_kind(SHMEMX_MEM_NUMA, mine), mine), "node %d", mine);
    if (fast >= 0)
        CHECK(is_on(of_kind(SHMEMX_MEM_HIGH_BW, 0), fast));
    if (slow >= 0)
        CHECK(is_on(of_kind(SHMEMX_MEM_LARGE_CAP, 0), slow));
    /* A node that there is not, strictly and with a fallback. */
    shmemx_space_config_t none = of_kind(SHMEMX_MEM_NUMA, 900);
    CHECK(create(none) == SHMEMX_SPACE_INVALID);
    none.fallback = SHMEMX_FALLBACK_DEFAULT;
    shmemx_space_t space = create(none);
    REQUIRE(space != SHMEMX_SPACE_INVALID);
    char *block = touched_by_neighbour(space);
    CHECK(n_nodes == 1 || !bound || pages_on(block, home) == SPACE / PAGE, "%d", pages_on(block, home));
    shmemx_space_destroy(space);

    space = create(of_kind(SHMEMX_MEM_INTERLEAVED, 0));
    REQUIRE(space != SHMEMX_SPACE_INVALID);
    block = touched_by_neighbour(space);
    int with_cpus = 0, on_all = 0;
    for (int i = 0; i < n_nodes; i++) {
        const int pages = pages_on(block, nodes[i]);
        with_cpus += pages > 0;
        on_all += pages;
        CHECK(n_nodes == 1 || (nodes[i] != fast && nodes[i] != slow) || pages == 0, "%d", pages);
    }
    for (int i = 0; i < n_nodes && n_nodes > 1; i++) {
        const int pages = pages_on(block, nodes[i]);
        CHECK(pages == 0 || (pages >= on_all / with_cpus && pages <= on_all / with_cpus + 1), "%d", pages);
    }
    shmemx_space_destroy(space);
}

/* The memory of a heap is on its PE's node, also where the neighbour touches it first; after a space, too. */
static void heap_is_at_home(void)
{
    char *block = shmem_malloc(SPACE);
    REQUIRE(block != NULL);
    for (int i = 0; i < SPACE; i += PAGE)
        shmem_char_p(block + i, 1, right);
    shmem_barrier_all();
    if (n_nodes > 1 && home >= 0)
        CHECK(pages_on(block, home) == SPACE / PAGE, "%d of %d pages on node %d", pages_on(block, home),
              SPACE / PAGE, home);
    shmem_barrier_all();
    shmem_free(block);
}

static void huge_pages(int is_known_to_work)
{
    enum { HUGE_PAGE = 2 << 20 };
    shmemx_space_config_t config = of_kind(SHMEMX_MEM_INTERLEAVED, 0);
    config.sheap_size = 3 * HUGE_PAGE;
    config.pgsize = SHMEMX_PAGES_HUGE;
    config.fallback = SHMEMX_FALLBACK_DEFAULT;
    shmemx_space_t space = create(config);
    REQUIRE(space != SHMEMX_SPACE_INVALID);
    CHECK((uintptr_t)space % HUGE_PAGE == 0);
    char *block = shmemx_space_calloc(space, 3 * HUGE_PAGE, 1);
    REQUIRE(block != NULL);
    for (int i = 0; i < 3 * HUGE_PAGE; i += PAGE)
        REQUIRE(block[i] == 0, "byte %d", i);
    config.fallback = SHMEMX_FALLBACK_NONE;
    shmemx_space_t strict = create(config);
    CHECK(strict != SHMEMX_SPACE_INVALID || !is_known_to_work);
    if (strict != SHMEMX_SPACE_INVALID) {
        /* Pages of the nodes in turn. */
        char *pages = shmemx_space_malloc(strict, 3 * HUGE_PAGE);
        REQUIRE(pages != NULL);
        CHECK(node_of(pages) >= 0 && node_of(pages) == node_of(pages + HUGE_PAGE - PAGE), "not on one page");
        CHECK(n_nodes == 1 || node_of(pages) != node_of(pages + HUGE_PAGE), "both on node %d", node_of(pages));
        shmemx_space_destroy(strict);
    }
    shmemx_space_destroy(space);
}

/* Teams of some PEs: their spaces are below each other where they share PEs, and the heap does not notice. */
static void teams(void)
{
    if (n < 3)
        return;
    shmem_team_t low, high;
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n - 1, NULL, 0, &low) == 0);
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, n - 1, NULL, 0, &high) == 0);
    shmemx_space_config_t config = of_kind(SHMEMX_MEM_DEFAULT, 0);
    shmemx_space_t of_low = SHMEMX_SPACE_INVALID, of_high = SHMEMX_SPACE_INVALID, second = SHMEMX_SPACE_INVALID;
    int rc = 0;
    if (low != SHMEM_TEAM_INVALID) {
        rc = shmemx_space_create(low, &config, MASK, &of_low);
        if (rc == 0)
            rc = shmemx_space_create(low, &config, MASK, &second);
        if (rc == 0)
            shmemx_space_destroy(of_low);
        of_low = second;
    }
    const int one_node = all(shmem_team_n_pes(SHMEM_TEAM_SHARED) == n);
    CHECK((rc == 0) == one_node || low == SHMEM_TEAM_INVALID, "%d", rc);
    char *block = shmem_malloc(SPACE);
    REQUIRE(block != NULL);
    same_everywhere(block);
    if (high != SHMEM_TEAM_INVALID)
        rc = shmemx_space_create(high, &config, MASK, &of_high);
    CHECK((rc == 0) == one_node, "%d", rc);
    if (one_node && high != SHMEM_TEAM_INVALID) {
        const ptrdiff_t apart = (char *)of_high - (char *)of_low;
        CHECK(of_low == SHMEMX_SPACE_INVALID || apart >= SPACE || apart <= -SPACE, "%ld bytes apart", (long)apart);
        long *word = shmemx_space_calloc(of_high, 1, sizeof *word);
        REQUIRE(word != NULL);
        shmem_team_sync(high);
        const int k = shmem_team_my_pe(high);
        shmem_long_atomic_add(word, 1, shmem_team_translate_pe(high, (k + 1) % (n - 1), SHMEM_TEAM_WORLD));
        shmem_quiet();
        shmem_team_sync(high);
        CHECK(*word == 1, "%ld", *word);
        shmem_team_sync(high);
    }
    shmem_barrier_all();
    /* A team takes its spaces with it. */
    shmem_team_destroy(low);
    shmem_team_destroy(high);
    shmem_free(block);
    block = shmem_malloc(3 * SPACE);
    REQUIRE(block != NULL);
    same_everywhere(block);
    shmem_free(block);
}

/* Blocks with hints share no line with others, and are of the kind that is asked for, if the node has it. */
static void hints(int fast)
{
    enum { TOGETHER = 128 };
    const long polled = SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE;
    uint64_t *signal = shmem_malloc_with_hints(sizeof *signal, SHMEM_MALLOC_SIGNAL_REMOTE);
    long *counter = shmem_malloc_with_hints(sizeof *counter, polled);
    char *plain = shmem_malloc(1);
    REQUIRE(signal != NULL && counter != NULL && plain != NULL);
    const uintptr_t lines[] = {(uintptr_t)signal / TOGETHER, (uintptr_t)counter / TOGETHER,
                               (uintptr_t)plain / TOGETHER};
    CHECK(lines[0] != lines[1] && lines[1] != lines[2] && lines[0] != lines[2]);
    CHECK((uintptr_t)signal % TOGETHER == 0 && (uintptr_t)counter % TOGETHER == 0);
    /* It has memory before another PE's update needs it. */
    CHECK(node_of_touched(signal) >= 0 || n_nodes == 1, "%d", node_of_touched(signal));

    const long kinds[] = {SHMEMX_MALLOC_HIGH_BW_MEM, SHMEMX_MALLOC_LOW_LAT_MEM | polled};
    for (int i = 0; i < 2; i++) {
        char *block = shmem_malloc_with_hints(SPACE, kinds[i]);
        REQUIRE(block != NULL);
        same_everywhere(block);
        CHECK((uintptr_t)block % PAGE == 0);
        for (int k = 0; k < SPACE; k += PAGE)
            shmem_char_p(block + k, 1, right);
        shmem_barrier_all();
        const int node = i == 0 && fast >= 0 ? fast : home;
        if (n_nodes > 1 && node >= 0)
            CHECK(pages_on(block, node) == SPACE / PAGE, "%d on node %d", pages_on(block, node), node);
        shmem_barrier_all();
        if (i == 0)
            block = shmem_realloc(block, 2 * SPACE);
        CHECK(block != NULL && block[0] == 1);
        shmem_free(block);
        heap_is_at_home();
    }
    shmem_free(plain);
    shmem_free(counter);
    shmem_free(signal);
}

int main(int argc, char **argv)
{
    const int fast = argc > 1 ? atoi(argv[1]) : -1, slow = argc > 2 ? atoi(argv[2]) : -1;
    for (int round = 0; round < 2; round++) {
        shmem_init();
        me = shmem_my_pe(), n = shmem_n_pes(), right = right_of(me), left = left_of(me);
        REQUIRE(n <= 64);
        n_nodes = 0, home = -1;
        look_at_machine();
        if (n_nodes == 0)
            add_node(0);
        heap_is_at_home();
        if (round < REPEAT(2, 1))
            is_symmetric();
        kinds(fast, slow);
        heap_is_at_home();
        if (round < REPEAT(2, 1)) {
            huge_pages(fast >= 0);
            teams();
            hints(fast);
        }
        /* One that is left, and a block with a hint: shmem_finalize ends them. */
        if (create(of_kind(SHMEMX_MEM_INTERLEAVED, 0)) != SHMEMX_SPACE_INVALID)
            CHECK(shmem_malloc_with_hints(SPACE, SHMEMX_MALLOC_LOW_LAT_MEM) != NULL);
        shmem_finalize();
    }
    return check_status();
}
