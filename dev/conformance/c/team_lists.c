/* Teams of any PEs: by lists in random order, colors, kinds; splits of those; translation, contexts, collectives
 * also those that go on after their calls, messages and streams of such teams. */
#include "neighbours.h"

#include <shmemx.h>

enum { MOST = 64, LONG = 20000, ROUNDS = REPEAT(40, 8) };

static const shmem_team_t WORLD = SHMEM_TEAM_WORLD;
static int me, n;
static long *source, *dest;
static long word, sum, one = 1;
static uint32_t state = 7;

static int below(int bound)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 16) % (unsigned)bound);
}

/* Some PEs of `size`, in random order: the same on all PEs. */
static int draw(int size, int *list)
{
    int count = 0;
    for (int i = 0; i < size; i++)
        list[i] = i;
    for (int left = size; left > 0 && count < 1 + below(size) * 2; left--, count++) {
        int at = count + below(left), one_of = list[at];
        list[at] = list[count];
        list[count] = one_of;
    }
    return count;
}

static int place(const int *list, int count, int pe)
{
    for (int i = 0; i < count; i++)
        if (list[i] == pe)
            return i;
    return -1;
}

/* Moves data by contexts of a team. */
static void contexts(shmem_team_t team, const int *list, int count)
{
    int mine = shmem_team_my_pe(team), to = (mine + 1) % count, from = (mine + count - 1) % count;
    shmem_ctx_t ctx;
    REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0);
    word = -1;
    shmem_team_sync(team);
    shmem_ctx_long_p(ctx, &word, list[mine], to);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(team);
    CHECK(word == list[from], "%ld", word);
    CHECK(shmem_ctx_long_g(ctx, &word, to) == list[mine]);
    shmem_team_sync(team);
    for (int pe = 0; pe < count; pe++)
        shmem_ctx_long_atomic_add(ctx, &word, 1, pe);
    shmem_ctx_destroy(ctx);
    shmem_team_sync(team);
    CHECK(word == list[from] + count, "%ld", word);
    CHECK(shmem_team_ptr(team, &word, to) == shmem_ptr(&word, list[to]));
}

static void collectives(shmem_team_t team, const int *list, int count, size_t length)
{
    int mine = shmem_team_my_pe(team), root = (int)length % count;
    long total = 0;
    for (int i = 0; i < count; i++)
        total += list[i];
    shmem_team_sync(team);
    for (size_t i = 0; i < length; i++)
        source[i] = list[mine] * 1000L + (long)i;
    CHECK(shmem_long_broadcast(team, dest, source, length, root) == 0);
    CHECK(mine == root || (dest[0] == list[root] * 1000L && dest[length - 1] == list[root] * 1000L + (long)length - 1));
    CHECK(shmem_long_sum_reduce(team, dest, source, length) == 0);
    for (size_t i = 0; i < length; i += 1 + length / 5)
        CHECK(dest[i] == total * 1000 + count * (long)i, "%ld", dest[i]);
    shmem_team_sync(team);
    size_t block = length / (size_t)count;
    CHECK(shmem_long_fcollect(team, dest, source, block) == 0);
    for (int pe = 0; block > 0 && pe < count; pe++)
        CHECK(dest[(size_t)pe * block] == list[pe] * 1000L);
    shmem_team_sync(team);
    CHECK(shmem_long_alltoall(team, dest, source, block) == 0);
    for (int pe = 0; block > 0 && pe < count; pe++)
        CHECK(dest[(size_t)pe * block] == list[pe] * 1000L + (long)((size_t)mine * block));
}

/* Requests, also those that persist. */
static void nonblocking(shmem_team_t team, const int *list, int count)
{
    shmemx_req_h request, persistent;
    long total = 0;
    for (int i = 0; i < count; i++)
        total += list[i];
    source[0] = me;
    shmem_team_sync(team);
    CHECK(shmemx_sum_reduce_nb(team, &sum, source, 1, &request) == 0);
    CHECK(shmemx_req_wait(&request) == 0 && sum == total, "%ld", sum);
    CHECK(shmemx_sum_reduce_init(team, &dest[1], &one, 1, &persistent) == 0);
    for (int i = 0; i < 3; i++) {
        shmemx_req_start(&persistent);
        CHECK(shmemx_req_wait(&persistent) == 0 && dest[1] == count);
    }
    shmemx_req_free(&persistent);
}

static void messages(shmem_team_t team, const int *list, int count)
{
    int mine = shmem_team_my_pe(team), got = -1;
    shmemx_msg_request_t request;
    shmemx_msg_status_t s;
    CHECK(shmemx_msg_isend(team, &me, sizeof me, (mine + 1) % count, 3, &request) == 0);
    CHECK(shmemx_msg_recv(team, &got, sizeof got, SHMEMX_ANY_SOURCE, 3, &s) == 0);
    CHECK(s.source == (mine + count - 1) % count && got == list[s.source]);
    CHECK(shmemx_msg_wait(&request, NULL) == 0);
}

/* Each PE pushes its number to all. */
static void streams(shmem_team_t team, const int *list, int count)
{
    shmemx_stream_t stream;
    int total = 0, item, from, left = 0;
    for (int i = 0; i < count; i++)
        left += list[i];
    if (shmemx_stream_create(team, sizeof me, 0, &stream) != 0)
        return;
    for (int pe = 0; pe < count; pe++)
        while (!shmemx_stream_push(stream, &me, pe))
            if (shmemx_stream_pull(stream, &item, NULL))
                total += item;
    shmemx_stream_end(stream);
    while (shmemx_stream_wait(stream))
        while (shmemx_stream_pull(stream, &item, &from)) {
            CHECK(item == list[from], "%d from %d", item, from);
            total += item;
        }
    CHECK(total == left, "%d of %d", total, left);
    shmemx_stream_destroy(stream);
}

static void check_members(shmem_team_t parent, shmem_team_t team, const int *list, int count)
{
    int index = place(list, count, me);
    CHECK((team != SHMEM_TEAM_INVALID) == (index >= 0), "%d of %d", index, count);
    if (index < 0)
        return;
    CHECK(shmem_team_my_pe(team) == index && shmem_team_n_pes(team) == count);
    for (int pe = 0; pe < n; pe++) {
        int i = place(list, count, pe);
        CHECK(shmem_team_translate_pe(WORLD, pe, team) == i, "%d", pe);
        if (i >= 0) {
            CHECK(shmem_team_translate_pe(team, i, WORLD) == pe);
            CHECK(shmem_team_translate_pe(parent, shmem_team_translate_pe(team, i, parent), WORLD) == pe);
        }
    }
    CHECK(shmem_team_translate_pe(team, count, WORLD) == -1);
}

static void check_team(shmem_team_t parent, shmem_team_t team, const int *list, int count, int depth);

/* Strided, 2d, listed and colored teams of a team whose PEs are `list`. */
static void splits(shmem_team_t team, const int *list, int count, int depth)
{
    int chosen[MOST], world[MOST], mine = shmem_team_my_pe(team);
    shmem_team_t one_team, other;
    int size = (count + 1) / 2;
    REQUIRE(shmem_team_split_strided(team, 2 * (size - 1), -2, size, NULL, 0, &one_team) == 0);
    for (int i = 0; i < size; i++)
        world[i] = list[2 * (size - 1 - i)];
    check_team(team, one_team, world, size, depth);
    REQUIRE(shmem_team_split_2d(team, 3, NULL, 0, &one_team, NULL, 0, &other) == 0);
    size = 0;
    for (int i = mine / 3 * 3; i < count && i < mine / 3 * 3 + 3; i++)
        world[size++] = list[i];
    check_team(team, one_team, world, size, 0);
    size = 0;
    for (int i = mine % 3; i < count; i += 3)
        world[size++] = list[i];
    check_team(team, other, world, size, 0);
    /* All PEs of the team draw the same. */
    uint32_t before = state;
    size = draw(count, chosen);
    for (int i = 0; i < size; i++)
        world[i] = list[chosen[i]];
    REQUIRE(shmemx_team_split_list(team, chosen, size, NULL, 0, &one_team) == 0);
    check_team(team, one_team, world, size, depth);
    state = before;
    int color = mine * 7 % 5 % 3;
    size = 0;
    for (int i = count - 1; i >= 0; i--)
        if (i * 7 % 5 % 3 == color)
            world[size++] = list[i];
    REQUIRE(shmemx_team_split_color(team, color, -mine, NULL, 0, &one_team) == 0);
    check_team(team, one_team, world, size, depth);
}

static void check_team(shmem_team_t parent, shmem_team_t team, const int *list, int count, int depth)
{
    check_members(parent, team, list, count);
    if (team == SHMEM_TEAM_INVALID)
        return;
    contexts(team, list, count);
    collectives(team, list, count, 1 + (size_t)(count * 37 % 90));
    if (depth > 0) {
        collectives(team, list, count, 700);
        collectives(team, list, count, LONG);
        nonblocking(team, list, count);
        messages(team, list, count);
        streams(team, list, count);
        splits(team, list, count, depth - 1);
    }
    shmem_team_destroy(team);
}

static void lists(void)
{
    int list[MOST];
    for (int round = 0; round < ROUNDS; round++) {
        shmem_team_t team = WORLD;
        int count = draw(n, list);
        uint32_t after = state;
        REQUIRE(shmemx_team_split_list(WORLD, list, count, NULL, 0, &team) == 0);
        check_team(WORLD, team, list, count, round < 6 ? 2 : 0);
        state = after;
    }
    /* What a list says of equal distances is the team that a strided split makes. */
    for (int i = 0; i < n; i++)
        list[i] = n - 1 - i;
    shmem_team_t team;
    shmem_team_config_t given = {.num_contexts = 3}, got = {.num_contexts = 0};
    REQUIRE(shmemx_team_split_list(WORLD, list, n, &given, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 3);
    check_team(WORLD, team, list, n, 1);
    team = WORLD;
    CHECK(shmemx_team_split_list(WORLD, NULL, 0, NULL, 0, &team) == 0 && team == SHMEM_TEAM_INVALID);
    list[0] = n / 2;
    CHECK(shmemx_team_split_list(WORLD, list, 1, NULL, 0, &team) == 0);
    check_team(WORLD, team, list, 1, 1);
    if (getenv("SHMEM_CHECK") == NULL) {
        team = WORLD;
        CHECK(shmemx_team_split_list(SHMEM_TEAM_INVALID, list, 1, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID);
        CHECK(shmemx_team_split_color(SHMEM_TEAM_INVALID, 0, 0, NULL, 0, &team) != 0);
    }
}

static void colors(void)
{
    int list[MOST];
    for (int round = 0; round < ROUNDS; round++) {
        shmem_team_t team = WORLD;
        int color[MOST], key[MOST], count = 0;
        for (int pe = 0; pe < n; pe++) {
            color[pe] = below(4) - 1;
            key[pe] = below(5) - 2;
        }
        REQUIRE(shmemx_team_split_color(WORLD, color[me], key[me], NULL, 0, &team) == 0);
        for (int k = -2; k < 3; k++)
            for (int pe = 0; color[me] >= 0 && pe < n; pe++)
                if (color[pe] == color[me] && key[pe] == k)
                    list[count++] = pe;
        uint32_t after = state;
        check_team(WORLD, team, list, count, round < 3);
        state = after;
    }
}

/* Union, intersection and difference of two teams, of which each PE knows whether it is in them. */
static void sets(void)
{
    shmem_team_t teams[2], set;
    int lists_of[2][MOST], count[2];
    for (int i = 0; i < 2; i++) {
        count[i] = draw(n, lists_of[i]);
        REQUIRE(shmemx_team_split_list(WORLD, lists_of[i], count[i], NULL, 0, &teams[i]) == 0);
    }
    for (int kind = 0; kind < 3; kind++) {
        int list[MOST], size = 0, is_in[2] = {teams[0] != SHMEM_TEAM_INVALID, teams[1] != SHMEM_TEAM_INVALID};
        int chosen[] = {is_in[0] || is_in[1], is_in[0] && is_in[1], is_in[0] && !is_in[1]};
        for (int pe = 0; pe < n; pe++) {
            int one = place(lists_of[0], count[0], pe) >= 0, two = place(lists_of[1], count[1], pe) >= 0;
            if (kind == 0 ? one + two > 0 : one == 1 && two == (kind == 1))
                list[size++] = pe;
        }
        REQUIRE(shmemx_team_split_color(WORLD, chosen[kind] ? 0 : -1, me, NULL, 0, &set) == 0);
        uint32_t before = state;
        check_team(WORLD, set, list, size, 0);
        state = before;
    }
    for (int i = 0; i < 2; i++)
        shmem_team_destroy(teams[i]);
}

static void kinds(void)
{
    int list[MOST], count = 0;
    shmem_team_t team;
    find_neighbours();
    for (int pe = 0; pe < n; pe++)
        if (is_near(pe))
            list[count++] = pe;
    REQUIRE(shmemx_team_split_kind(WORLD, SHMEMX_TEAM_NODE, NULL, 0, &team) == 0);
    check_team(WORLD, team, list, count, 1);
    static const int parts[] = {SHMEMX_TEAM_SOCKET, SHMEMX_TEAM_NUMA, SHMEMX_TEAM_CACHE};
    for (int i = 0; i < 3; i++) {
        REQUIRE(shmemx_team_split_kind(WORLD, parts[i], NULL, 0, &team) == 0);
        REQUIRE(team != SHMEM_TEAM_INVALID);
        count = shmem_team_n_pes(team);
        for (int pe = 0; pe < count; pe++) {
            list[pe] = shmem_team_translate_pe(team, pe, WORLD);
            CHECK(is_near(list[pe]) && (pe == 0 || list[pe] > list[pe - 1]));
        }
        const char *sockets = getenv("SHMEM_SOCKETS");
        if (sockets != NULL && parts[i] == SHMEMX_TEAM_SOCKET)
            CHECK(count == (n - me % 2 + 1) / 2, "%d PEs, with the sockets %s", count, sockets);
        check_team(WORLD, team, list, count, 0);
    }
}

/* KiB of the areas for streams, where the PEs of a node share tables, that this PE has touched. */
static long resident(void)
{
    char line[256];
    long sum = 0, kib;
    unsigned long start = 0, at;
    FILE *file = fopen("/proc/self/smaps", "r");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%lx-%*x ", &at) == 1)
            start = at;
        if (start >> 40 == 55 && sscanf(line, "Rss: %ld kB", &kib) == 1)
            sum += kib;
    }
    fclose(file);
    return sum;
}

/* Pages of shared tables are used again when all members have destroyed a team. */
static void tables(void)
{
    int list[MOST];
    for (int i = 0; i < n; i++)
        list[i] = i < 2 ? 1 - i : i;
    for (int i = 0; n > 2 && i < REPEAT(300, 60); i++) {
        shmem_team_t team;
        REQUIRE(shmemx_team_split_list(WORLD, list, n, NULL, 0, &team) == 0);
        check_members(WORLD, team, list, n);
        if (i == 0)
            CHECK(resident() > 0);
        shmem_team_destroy(team);
    }
    CHECK(resident() <= 128, "%ld KiB", resident());
}

/* Teams of the same id one after the other, and many at once. */
static void many(void)
{
    enum { TEAMS = REPEAT(150, 30) };
    shmem_team_t teams[TEAMS];
    int lists_of[TEAMS][MOST], count[TEAMS];
    for (int i = 0; i < TEAMS; i++) {
        count[i] = draw(n, lists_of[i]);
        REQUIRE(shmemx_team_split_list(WORLD, lists_of[i], count[i], NULL, 0, &teams[i]) == 0, "team %d", i);
        if (i % 3 == 0 && teams[i] != SHMEM_TEAM_INVALID)
            shmem_team_destroy(teams[i]);
    }
    for (int i = 0; i < TEAMS; i++)
        if (i % 3 != 0)
            check_team(WORLD, teams[i], lists_of[i], count[i], 0);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    REQUIRE(n <= MOST);
    source = checked_malloc(LONG * sizeof *source);
    dest = checked_malloc(2 * LONG * sizeof *dest);
    /* All that are lists, if it is 0. */
    if (getenv("SHMEM_TEAM_TABLE") != NULL)
        tables();
    lists();
    shmem_barrier_all();
    colors();
    shmem_barrier_all();
    sets();
    shmem_barrier_all();
    kinds();
    shmem_barrier_all();
    many();
    shmem_barrier_all();
    return finish();
}
