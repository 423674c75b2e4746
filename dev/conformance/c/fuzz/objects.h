/* What PEs make and end together: symmetric memory, teams, contexts; and queries. */
#ifndef FUZZ_OBJECTS_H
#define FUZZ_OBJECTS_H

#include "collectives.h"
#include "neighbors.h"
#include "persistent.h"
#include "streams.h"

#include <shmemx.h>

/* The areas that are never freed. */
static int fixed_areas;
static size_t largest_area;

/* Of `first_of`. */
static const int kinds_of_teams[] = {SHMEMX_TEAM_NODE, SHMEMX_TEAM_SOCKET, SHMEMX_TEAM_NUMA, SHMEMX_TEAM_CACHE};

static int is_zero(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0)
            return 0;
    return 1;
}

/* The lowest byte of memory that an area may not share with another. */
static void check_apart(const unsigned char *base, size_t bytes, int number)
{
    for (int i = 0; i < area_count; i++)
        expect_that(base + bytes <= areas[i].base || areas[i].base + areas[i].bytes <= base,
                    "allocated memory is in use", number);
}

/* A space of all PEs, whose blocks are areas; with the blocks it ends. */
static shmemx_space_t space;
static size_t bytes_of_space;

static shmemx_space_t create_space(struct rng *rng, const struct team *t, size_t bytes, int number)
{
    const long mask = SHMEMX_SPACE_SHEAP_SIZE | SHMEMX_SPACE_MEMKIND | SHMEMX_SPACE_NUMA_DOMAIN |
                      SHMEMX_SPACE_FALLBACK;
    shmemx_space_config_t config = {.sheap_size = bytes, .fallback = SHMEMX_FALLBACK_DEFAULT};
    shmemx_space_t made = SHMEMX_SPACE_INVALID;
    config.memkind = below(rng, SHMEMX_MEM_LARGE_CAP + 1);
    config.numa_domain = below(rng, 2);
    if (t->rank[me] >= 0)
        expect_that(F(shmemx_space_create)(t->handle, &config, mask, &made) == 0 && made != SHMEMX_SPACE_INVALID,
                    "shmemx_space_create", number);
    return made;
}

static void end_space(void)
{
    for (int i = area_count - 1; i >= 0; i--)
        if (areas[i].in_space)
            remove_area(i);
    F(shmemx_space_destroy)(space);
    space = SHMEMX_SPACE_INVALID;
}

static void begin_or_end_space(struct rng *rng, int number)
{
    if (space == SHMEMX_SPACE_INVALID && lost != 0)
        return;
    if (space == SHMEMX_SPACE_INVALID) {
        bytes_of_space = largest_area + (size_t)below(rng, 100000);
        space = create_space(rng, &teams[0], bytes_of_space, number);
        return;
    }
    end_space();
}

/* A space of a team from its creation to its end. Over several nodes it has to be that of all PEs. */
static void use_space(struct rng *rng, int number)
{
    const struct team *t = &teams[is_on_hosts() ? 0 : draw_team(rng)];
    size_t bytes = 4096 + (size_t)below(rng, 100000);
    int rank = t->rank[me], frees = below(rng, 2);
    if (t->failed)
        return;
    shmemx_space_t of_team = create_space(rng, t, bytes, number);
    F(shmemx_thread_lend)(NULL, 0);
    if (rank < 0)
        return;
    unsigned char *half = F(shmemx_space_malloc)(of_team, bytes / 2);
    long *word = F(shmemx_space_calloc)(of_team, 8, sizeof *word);
    long *aligned = F(shmemx_space_align)(of_team, 512, sizeof *aligned);
    expect_that(half != NULL && word != NULL && aligned != NULL, "shmemx_space_malloc", number);
    expect_that(is_zero((unsigned char *)word, 8 * sizeof *word), "shmemx_space_calloc zeroes", number);
    expect_that((uintptr_t)aligned % 512 == 0, "shmemx_space_align", number);
    expect_that(F(shmemx_space_malloc)(of_team, bytes + 4096) == NULL, "a space has an end", number);
    check_apart(half, bytes / 2, number);
    memset(half, 0xff, bytes / 2);
    F(shmem_long_atomic_add)(word, rank + 1, t->pes[(rank + 1) % t->size]);
    F(shmem_quiet)();
    F(shmem_team_sync)(t->handle);
    expect_that(*word == (rank + t->size - 1) % t->size + 1, "an atomic in a space", number);
    if (frees)
        F(shmemx_space_free)(of_team, half);
    F(shmemx_space_destroy)(of_team);
}

/* New contents of bytes of an area, on all PEs. */
static void renew(struct area *a, size_t at, size_t bytes, struct rng *rng)
{
    if (bytes > 0)
        refill(a, at, bytes, rng);
    for (int pe = 0; pe < n; pe++)
        if (acts_for(pe))
            F(shmem_putmem)(a->base, model(a, pe, 0), a->bytes, pe);
}

static void allocate(struct rng *rng, int number)
{
    if (area_count == MOST_AREAS)
        return;
    size_t bytes = 256 + (size_t)below(rng, once_in(rng, 4) ? (int)largest_area : 5000);
    size_t alignment = (size_t)8 << below(rng, 11), multiple = 1;
    int how = below(rng, 6), in_space = how < 3 && space != SHMEMX_SPACE_INVALID;
    unsigned char *p = NULL;
    const char *name = NULL;
    switch (how + 6 * in_space) {
    case 6:
        name = "shmemx_space_malloc";
        p = F(shmemx_space_malloc)(space, bytes);
        break;
    case 7:
        name = "shmemx_space_align";
        multiple = alignment;
        p = F(shmemx_space_align)(space, alignment, bytes);
        break;
    case 8:
        name = "shmemx_space_calloc";
        bytes -= bytes % 8;
        p = F(shmemx_space_calloc)(space, bytes / 8, 8);
        expect_that(p == NULL || is_zero(p, bytes), "shmemx_space_calloc zeroes", number);
        break;
    case 0:
        name = "shmem_malloc";
        p = F(shmem_malloc)(bytes);
        break;
    case 1:
        name = "shmalloc";
        p = F(shmalloc)(bytes);
        break;
    case 2:
        name = "shmem_align";
        multiple = alignment;
        p = F(shmem_align)(alignment, bytes);
        break;
    case 3:
        name = "shmemalign";
        multiple = alignment;
        p = F(shmemalign)(alignment, bytes);
        break;
    case 4:
        name = "shmem_malloc_with_hints";
        p = F(shmem_malloc_with_hints)(bytes, below(rng, 4) | (long)below(rng, 4) << 16);
        break;
    default:
        name = "shmem_calloc";
        bytes -= bytes % 8;
        p = F(shmem_calloc)(bytes / 8, 8);
        expect_that(p == NULL || is_zero(p, bytes), "shmem_calloc zeroes", number);
    }
    /* Other blocks may fill a space. */
    if (p == NULL && in_space)
        return;
    expect_that(p != NULL, name, number);
    expect_that((uintptr_t)p % multiple == 0 && (uintptr_t)p % 16 == 0, name, number);
    check_apart(p, bytes, number);
    char label[24];
    snprintf(label, sizeof label, "%s block %d.%d", in_space ? "space" : "heap", step, number);
    add_area(label, p, bytes);
    areas[area_count - 1].in_space = in_space;
    renew(&areas[area_count - 1], 0, bytes, rng);
}

static void reallocate(struct rng *rng, int number)
{
    if (area_count == fixed_areas)
        return;
    struct area old = areas[between(rng, fixed_areas, area_count - 1)];
    size_t bytes = 256 + (size_t)below(rng, once_in(rng, 4) ? (int)largest_area : 5000);
    int i = 0;
    while (areas[i].base != old.base)
        i++;
    if (old.in_space)
        return;
    unsigned char *p = once_in(rng, 2) ? F(shmem_realloc)(old.base, bytes) : F(shrealloc)(old.base, bytes);
    size_t kept = bytes < old.bytes ? bytes : old.bytes;
    expect_that(p != NULL, "shmem_realloc", number);
    if (memcmp(p, model(&old, me, 0), kept) != 0)
        differs(number, "shmem_realloc from %zu to %zu bytes: contents are lost", old.bytes, bytes);
    areas[i].bytes = 0;
    check_apart(p, bytes, number);
    unsigned char *models = checked(calloc((size_t)n, bytes));
    for (int pe = 0; pe < n; pe++)
        memcpy(models + (size_t)pe * bytes, model(&old, pe, 0), kept);
    free(old.model);
    areas[i].base = p;
    areas[i].bytes = bytes;
    areas[i].model = models;
    renew(&areas[i], kept, bytes - kept, rng);
}

static void release(struct rng *rng, int number)
{
    if (once_in(rng, 8)) {
        F(shmem_free)(NULL);
        expect_that(F(shmem_malloc)(0) == NULL, "shmem_malloc of no bytes", number);
        expect_that(F(shmem_calloc)(0, 8) == NULL, "shmem_calloc of no bytes", number);
        return;
    }
    if (area_count == fixed_areas)
        return;
    int i = between(rng, fixed_areas, area_count - 1), how = below(rng, 3);
    if (areas[i].in_space)
        F(shmemx_space_free)(space, areas[i].base);
    else if (how == 0)
        F(shmem_free)(areas[i].base);
    else if (how == 1)
        F(shfree)(areas[i].base);
    else
        expect_that(F(shmem_realloc)(areas[i].base, 0) == NULL, "shmem_realloc to no bytes", number);
    remove_area(i);
}

/* The team of those PEs of a parent, in this order. Its handle is set where this PE is a member. */
static struct team *add_team(const struct team *parent, const int *members, int size, shmem_team_t handle,
                             const char *what, int number)
{
    int i = 0;
    while (i < MOST_TEAMS && teams[i].alive)
        i++;
    struct team *t = &teams[i];
    memset(t, 0, sizeof *t);
    t->alive = 1;
    t->size = size;
    t->handle = handle;
    memset(t->rank, -1, sizeof t->rank);
    for (int k = 0; k < size; k++) {
        int pe = parent->pes[members[k]];
        t->pes[k] = pe;
        t->rank[pe] = k;
        t->mask |= bit(pe);
    }
    int member = t->rank[me] >= 0;
    if (parent->rank[me] >= 0 && member != (handle != SHMEM_TEAM_INVALID))
        differs(number, "%s: %s, but the handle is %s", what, member ? "a member" : "not a member",
                member ? "invalid" : "valid");
    if (member) {
        expect_that(F(shmem_team_my_pe)(handle) == t->rank[me], "shmem_team_my_pe", number);
        expect_that(F(shmem_team_n_pes)(handle) == size, "shmem_team_n_pes", number);
    }
    return t;
}

static struct team *add_strided(const struct team *parent, int start, int stride, int size, shmem_team_t handle,
                                const char *what, int number)
{
    int members[MOST_PES];
    for (int k = 0; k < size; k++)
        members[k] = start + k * stride;
    return add_team(parent, members, size, handle, what, number);
}

static int free_teams(void)
{
    int count = 0;
    for (int i = 0; i < MOST_TEAMS; i++)
        count += !teams[i].alive;
    return count;
}

static void split_strided(struct rng *rng, int number)
{
    const struct team *parent = &teams[draw_team(rng)];
    int start = below(rng, parent->size), stride = between(rng, 1, 3);
    int size = 1 + below(rng, (parent->size - 1 - start) / stride + 1);
    int configured = once_in(rng, 2);
    shmem_team_config_t config = {.num_contexts = between(rng, 0, 3)};
    shmem_team_t handle = SHMEM_TEAM_INVALID;
    if (free_teams() == 0)
        return;
    if (parent->rank[me] >= 0) {
        int code = F(shmem_team_split_strided)(parent->handle, start, stride, size, configured ? &config : NULL,
                                               configured ? SHMEM_TEAM_NUM_CONTEXTS : 0, &handle);
        if (handle != SHMEM_TEAM_INVALID)
            expect_that(code == 0, "shmem_team_split_strided", number);
    }
    add_strided(parent, start, stride, size, handle, "shmem_team_split_strided", number);
}

/* Some members of a team in any order, perhaps none. */
static void split_list(struct rng *rng, int number)
{
    const struct team *parent = &teams[draw_team(rng)];
    int members[MOST_PES], size = below(rng, parent->size + 1);
    shmem_team_t handle = SHMEM_TEAM_INVALID;
    for (int k = 0; k < parent->size; k++)
        members[k] = k;
    for (int k = 0; k < size; k++) {
        int at = between(rng, k, parent->size - 1), member = members[at];
        members[at] = members[k];
        members[k] = member;
    }
    if (free_teams() == 0)
        return;
    if (parent->rank[me] >= 0) {
        int code = F(shmemx_team_split_list)(parent->handle, members, size, NULL, 0, &handle);
        expect_that(code == 0, "shmemx_team_split_list", number);
    }
    if (size > 0)
        add_team(parent, members, size, handle, "shmemx_team_split_list", number);
}

/* By up to three colors and keys, where -1 is no color; or by what PEs share. */
static void split_color(struct rng *rng, int number)
{
    struct team parent = teams[draw_team(rng)];
    int colors[MOST_PES], keys[MOST_PES], rank = parent.rank[me], by_kind = once_in(rng, 3), count = 0, code;
    int kind = below(rng, 4);
    const char *what = by_kind ? "shmemx_team_split_kind" : "shmemx_team_split_color";
    shmem_team_t handle = SHMEM_TEAM_INVALID;
    for (int k = 0; k < parent.size; k++) {
        colors[k] = by_kind ? first_of[kind][parent.pes[k]] : between(rng, -1, 2);
        keys[k] = by_kind ? 0 : between(rng, -2, 2);
    }
    for (int color = 0; color < n; color++)
        count += color < 3 || first_of[kind][color] == color;
    if (free_teams() < count)
        return;
    if (rank >= 0) {
        code = by_kind ? F(shmemx_team_split_kind)(parent.handle, kinds_of_teams[kind], NULL, 0, &handle)
                       : F(shmemx_team_split_color)(parent.handle, colors[rank], keys[rank], NULL, 0, &handle);
        expect_that(code == 0, what, number);
    }
    for (int color = 0; color < MOST_PES; color++) {
        int members[MOST_PES], size = 0, mine = rank >= 0 && colors[rank] == color;
        for (int key = -2; key <= 2; key++)
            for (int k = 0; k < parent.size; k++)
                if (colors[k] == color && keys[k] == key)
                    members[size++] = k;
        if (size > 0)
            add_team(&parent, members, size, mine ? handle : SHMEM_TEAM_INVALID, what, number);
    }
}

static void split_2d(struct rng *rng, int number)
{
    struct team parent = teams[draw_team(rng)];
    int width = between(rng, 1, parent.size + 1);
    int columns = width < parent.size ? width : parent.size, rows = (parent.size + columns - 1) / columns;
    shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
    if (free_teams() < rows + columns)
        return;
    if (parent.rank[me] >= 0) {
        int code = F(shmem_team_split_2d)(parent.handle, width, NULL, 0, &x, NULL, 0, &y);
        expect_that(code == 0, "shmem_team_split_2d", number);
    }
    int rank = parent.rank[me];
    for (int i = 0; i < rows; i++) {
        int size = i < rows - 1 ? columns : parent.size - i * columns;
        int mine = rank >= 0 && rank / columns == i;
        add_strided(&parent, i * columns, 1, size, mine ? x : SHMEM_TEAM_INVALID, "shmem_team_split_2d", number);
    }
    for (int i = 0; i < columns; i++) {
        int size = (parent.size - 1 - i) / columns + 1;
        int mine = rank >= 0 && rank % columns == i;
        add_strided(&parent, i, columns, size, mine ? y : SHMEM_TEAM_INVALID, "shmem_team_split_2d", number);
    }
}

static void destroy_context(int i)
{
    struct context *c = &contexts[i];
    if (teams[c->team].rank[me] >= 0)
        F(shmem_ctx_destroy)(c->handle);
    c->alive = 0;
}

static void end_team(int i)
{
    struct team *t = &teams[i];
    for (int c = 0; c < MOST_CONTEXTS; c++)
        if (contexts[c].alive && contexts[c].team == i)
            destroy_context(c);
    if (t->rank[me] >= 0)
        F(shmem_team_destroy)(t->handle);
    t->alive = 0;
}

static void destroy_team(struct rng *rng)
{
    int i = below(rng, MOST_TEAMS);
    if (teams[i].alive == 1)
        end_team(i);
}

static void create_context(struct rng *rng, int number)
{
    static const long all_options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE,
                                       SHMEM_CTX_NOSTORE, SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    long options = all_options[below(rng, 5)];
    int number_of_team = once_in(rng, 2) ? 0 : draw_team(rng), i = 1, thread = below(rng, threads);
    while (i < MOST_CONTEXTS && contexts[i].alive)
        i++;
    if (i == MOST_CONTEXTS)
        return;
    struct team *t = &teams[number_of_team];
    struct context *c = &contexts[i];
    *c = (struct context){1, number_of_team, options == 0 && once_in(rng, 2) ? -1 : thread, SHMEM_CTX_INVALID};
    /* A private context belongs to the thread that makes it. */
    if (options & SHMEM_CTX_PRIVATE)
        c->thread = 0;
    int of_team = number_of_team != 0 || once_in(rng, 2);
    if (t->rank[me] < 0)
        return;
    int code = of_team ? F(shmem_team_create_ctx)(t->handle, options, &c->handle)
                       : F(shmem_ctx_create)(options, &c->handle);
    expect_that(code == 0 && c->handle != SHMEM_CTX_INVALID, "shmem_ctx_create", number);
    shmem_team_t got = SHMEM_TEAM_INVALID;
    expect_that(F(shmem_ctx_get_team)(c->handle, &got) == 0 && got == t->handle, "shmem_ctx_get_team",
                number);
}

static void end_context(struct rng *rng)
{
    int i = between(rng, 1, MOST_CONTEXTS - 1);
    if (contexts[i].alive)
        destroy_context(i);
}

/* Sessions are hints: they change nothing. They begin in one phase and end in a later one, or do not. */
static void begin_or_end_session(struct rng *rng)
{
    int i = below(rng, MOST_CONTEXTS), start = once_in(rng, 2);
    shmem_ctx_session_config_t config = {.total_ops = (size_t)below(rng, 1000)};
    long mask = once_in(rng, 2) ? SHMEM_CTX_SESSION_TOTAL_OPS : 0;
    const struct context *c = &contexts[i];
    if (!c->alive || teams[c->team].rank[me] < 0)
        return;
    F(shmem_ctx_session_start)(c->handle, start ? SHMEM_CTX_SESSION_BATCH : 0, &config, mask);
    F(shmem_ctx_session_stop)(c->handle);
}

/* Regions change nothing; calls are counted if the environment says so. */
static void count_calls(int pe, int number)
{
    const char *counters = getenv("SHMEM_COUNTERS");
    uint64_t counts = counters != NULL && strcmp(counters, "1") == 0;
    char bytes[24];
    F(shmemx_region_begin)("queries");
    F(shmemx_counter_reset)();
    F(shmem_getmem)(bytes, areas[0].base, sizeof bytes, pe);
    F(shmemx_region_end)();
    expect_that(F(shmemx_counter_read)(SHMEMX_COUNTER_GET, SHMEMX_COUNTER_OPERATIONS) == counts
                    && F(shmemx_counter_read)(SHMEMX_COUNTER_GET, SHMEMX_COUNTER_BYTES) == sizeof bytes * counts,
                "shmemx_counter_read", number);
}

static void query(struct rng *rng, int number)
{
    int major = -1, minor = -1, provided = -1, initialized = -1, pe = below(rng, n);
    char name[SHMEM_MAX_NAME_LEN] = "";
    const struct team *a = &teams[draw_team(rng)], *b = &teams[draw_team(rng)];
    shmem_team_config_t config = {.num_contexts = -1};
    expect_that(F(shmem_my_pe)() == me && F(_my_pe)() == me, "shmem_my_pe", number);
    expect_that(F(shmem_n_pes)() == n && F(_num_pes)() == n, "shmem_n_pes", number);
    F(shmem_info_get_version)(&major, &minor);
    F(shmem_info_get_name)(name);
    F(shmem_query_thread)(&provided);
    F(shmem_query_initialized)(&initialized);
    F(shmem_pcontrol)(1);
    expect_that(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION, "shmem_info_get_version", number);
    expect_that(strcmp(name, SHMEM_VENDOR_STRING) == 0, "shmem_info_get_name", number);
    expect_that(provided >= (threads > 1 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE), "shmem_query_thread",
                number);
    expect_that(initialized == 1, "shmem_query_initialized", number);
    expect_that(F(shmem_pe_accessible)(pe) == 1 && F(shmem_pe_accessible)(n) == 0, "shmem_pe_accessible", number);
    expect_that(F(shmem_addr_accessible)(areas[0].base, pe) == 1, "shmem_addr_accessible", number);
    expect_that(F(shmem_ptr)(areas[0].base, me) == areas[0].base, "shmem_ptr", number);
    F(shmem_set_cache_inv)();
    F(shmem_clear_cache_inv)();
    F(shmem_set_cache_line_inv)(areas[0].base);
    F(shmem_clear_cache_line_inv)(areas[0].base);
    F(shmem_udcflush)();
    F(shmem_udcflush_line)(areas[0].base);
    count_calls(pe, number);
    if (a->rank[me] < 0)
        return;
    int member = below(rng, a->size);
    expect_that(F(shmem_team_get_config)(a->handle, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0, "shmem_team_get_config",
                number);
    expect_that(F(shmem_team_ptr)(a->handle, areas[1].base, member) == F(shmem_ptr)(areas[1].base, a->pes[member]),
                "shmem_team_ptr", number);
    if (b->rank[me] >= 0)
        expect_that(F(shmem_team_translate_pe)(a->handle, member, b->handle) == b->rank[a->pes[member]],
                    "shmem_team_translate_pe", number);
}

#endif
