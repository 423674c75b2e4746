/* Graphs of neighbours (extension): random ones and grids, over several teams, with blocks of all lengths and strides.
 * PEs are late, and look at what they have got until they start again. */
#include <shmem.h>
#include <shmemx.h>
#include <unistd.h>

#include "check.h"
#include "end_request.h"

#define WORLD SHMEM_TEAM_WORLD
/* In the line of a signal, through the library's memory, to the array. */
static const size_t SIZES[] = {0, 1, 8, 56, 57, 504, 505, 1000, 8192, 8193, 70001};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES, LARGEST = 70001, MOST_EDGES = 60, MOST_SIDES = 16 };

static int me, n;
static unsigned char *dest, *source;
static uint64_t state;

/* The same numbers on all PEs that draw as many. */
static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static unsigned char value(size_t edge, size_t i, int round)
{
    return (unsigned char)(edge * 37 + i * 11 + i / 251 + (size_t)round * 5);
}

/* Now and then, a PE is late. */
static void dawdle(int round)
{
    if ((me * 7 + round * 3) % 11 == 0)
        usleep(300);
}

/* A block of a random shape, with so many bytes, from `at` on; where its end is. */
static size_t shape(shmemx_blocks_t *block, unsigned char *array, size_t at, size_t bytes)
{
    size_t count = 1;
    static const size_t counts[] = {1, 2, 8, 125, 1024, 70001};
    for (unsigned i = draw(6); i > 0; i--)
        if (bytes % counts[i] == 0)
            count = counts[i];
    if (bytes == 0)
        count = 1;
    size_t each = bytes / count, gap = count > 1 && count < 2000 ? draw(3) * 8 : 0;
    *block = (shmemx_blocks_t){array + at, each, count, each + gap};
    return at + count * (each + gap);
}

static unsigned char *byte_of(const shmemx_blocks_t *block, size_t i)
{
    return (unsigned char *)block->addr + i / block->nbytes * block->stride + i % block->nbytes;
}

enum { ROOM = 2 << 20 };

/* Edges of which all PEs know both ends. */
static void random_graph(shmem_team_t team, int is_symmetric)
{
    int size = shmem_team_n_pes(team), index = shmem_team_my_pe(team), nsources = 0, ndests = 0;
    int sources[2 * MOST_EDGES], dests[2 * MOST_EDGES];
    size_t source_edges[2 * MOST_EDGES], dest_edges[2 * MOST_EDGES], bytes[2 * MOST_EDGES];
    shmemx_blocks_t from[2 * MOST_EDGES], to[2 * MOST_EDGES];
    size_t edges = draw(is_symmetric ? MOST_SIDES : MOST_SIDES + 4), source_end = 0, dest_end = 0;
    for (size_t edge = 0; edge < edges; edge++) {
        int a = (int)draw((unsigned)size), b = (int)draw((unsigned)size);
        for (int back = 0; back <= is_symmetric; back++) {
            size_t number = 2 * edge + (size_t)back;
            bytes[number] = SIZES[draw(N_SIZES)];
            if (index == a) {
                dest_edges[ndests] = number;
                dests[ndests++] = b;
            }
            if (index == b) {
                source_edges[nsources] = number;
                sources[nsources++] = a;
            }
            int swap = a;
            a = b;
            b = swap;
        }
    }
    /* Entries for no neighbour, which only one PE has. */
    if (index == 0 && nsources < 2 * MOST_EDGES) {
        source_edges[nsources] = 0;
        sources[nsources++] = -1;
    }
    uint64_t common = state;
    state += (uint64_t)index;
    for (int i = 0; i < ndests; i++)
        source_end = shape(&from[i], source, source_end, bytes[dest_edges[i]]);
    for (int i = 0; i < nsources; i++)
        if (sources[i] >= 0)
            dest_end = shape(&to[i], dest, dest_end, bytes[source_edges[i]]);
        else
            to[i] = (shmemx_blocks_t){NULL, 5, 5, 0};
    state = common;
    REQUIRE(source_end <= ROOM && dest_end <= ROOM);

    shmemx_graph_t graph;
    shmemx_req_h request;
    REQUIRE(shmemx_graph_create(team, nsources, sources, ndests, dests, &graph) == 0);
    int found[2 * MOST_EDGES];
    shmemx_graph_neighbors(graph, found, NULL);
    CHECK(memcmp(found, sources, (size_t)nsources * sizeof *found) == 0);
    CHECK(shmemx_neighbor_alltoallw_init(graph, to, from, &request) == 0);
    for (int round = 0; round < REPEAT(8, 3); round++) {
        memset(dest, 0xa5, dest_end);
        for (int i = 0; i < ndests; i++)
            for (size_t k = 0; k < bytes[dest_edges[i]]; k++)
                *byte_of(&from[i], k) = value(dest_edges[i], k, round);
        dawdle(round);
        shmemx_req_start(&request);
        complete_request(&request, me + round);
        memset(source, 0x5a, source_end);
        dawdle(round + 1);
        size_t wrong = 0, got = 0;
        for (int i = 0; i < nsources; i++) {
            if (sources[i] < 0)
                continue;
            for (size_t k = 0; k < bytes[source_edges[i]]; k++)
                wrong += *byte_of(&to[i], k) != value(source_edges[i], k, round);
            got += bytes[source_edges[i]];
        }
        CHECK(wrong == 0, "%zu of %zu bytes in round %d", wrong, got, round);
        for (size_t k = 0; k < dest_end; k++)
            got += dest[k] == 0xa5;
        CHECK(got >= dest_end, "bytes between blocks have changed");
    }
    shmemx_req_free(&request);
    shmemx_graph_destroy(graph);
}

/* All faces of a grid of three dimensions, without the cells at its edges. */
static void faces(const int *dims, const int *periods)
{
    enum { SIDE = 6, CELLS = SIDE + 2 };
    typedef int grid[CELLS][CELLS][CELLS];
    grid *cells = (grid *)dest;
    shmemx_graph_t graph;
    shmemx_req_h requests[2];
    REQUIRE(shmemx_cart_create(WORLD, 3, dims, periods, &graph) == 0);
    int neighbors[6];
    shmemx_graph_neighbors(graph, neighbors, NULL);
    size_t x = sizeof(int), y = x * CELLS, z = y * CELLS;
    for (int i = 0; i < 2; i++) {
        shmemx_blocks_t to[6], from[6];
        for (int side = 0; side < 2; side++) {
            int halo = side ? SIDE + 1 : 0, own = side ? SIDE : 1;
            to[side] = (shmemx_blocks_t){&cells[i][halo][1][0], y * SIDE, 1, 0};
            from[side] = (shmemx_blocks_t){&cells[i][own][1][0], y * SIDE, 1, 0};
            to[2 + side] = (shmemx_blocks_t){&cells[i][1][halo][0], y, SIDE, z};
            from[2 + side] = (shmemx_blocks_t){&cells[i][1][own][0], y, SIDE, z};
            to[4 + side] = (shmemx_blocks_t){&cells[i][1][0][halo], x, SIDE * CELLS, y};
            from[4 + side] = (shmemx_blocks_t){&cells[i][1][0][own], x, SIDE * CELLS, y};
        }
        CHECK(shmemx_neighbor_alltoallw_init(graph, to, from, &requests[i]) == 0);
    }
    for (int round = 0; round < REPEAT(20, 4); round++) {
        /* What a cell has: its PE, place and round. */
        for (int k = 0; k < 2 * CELLS * CELLS * CELLS; k++)
            (&cells[0][0][0][0])[k] = (me << 16) + k % (CELLS * CELLS * CELLS) + (round << 10);
        dawdle(round);
        shmemx_req_startall(2, requests);
        if (round % 2)
            shmemx_req_waitall(2, requests);
        else
            while (shmemx_req_testall(2, requests) != 0)
                ;
        for (int i = 0; i < 2; i++)
            for (int side = 0; side < 6; side++) {
                int at[3] = {2, 3, 4}, there[3] = {2, 3, 4}, d = side / 2;
                at[d] = side % 2 ? SIDE + 1 : 0;
                there[d] = side % 2 ? 1 : SIDE;
                int from = neighbors[side] < 0 ? me : neighbors[side], *place = neighbors[side] < 0 ? at : there;
                int right = (from << 16) + (place[0] * CELLS + place[1]) * CELLS + place[2] + (round << 10);
                int found = cells[i][at[0]][at[1]][at[2]];
                CHECK(found == right, "side %d, round %d: %x for %x", side, round, found, right);
            }
    }
    for (int i = 0; i < 2; i++)
        shmemx_req_free(&requests[i]);
    shmemx_graph_destroy(graph);
}

static void grids(void)
{
    for (int a = 1; a <= n; a++)
        for (int b = 1; n % a == 0 && b <= n / a; b++)
            if (n / a % b == 0) {
                int dims[] = {a, b, n / a / b}, periods[] = {(int)draw(2), (int)draw(2), (int)draw(2)};
                faces(dims, periods);
            }
}

/* A PE that waits for something else sends a long block, once its neighbour takes it. */
static void beside_a_wait(void)
{
    static uint64_t signal;
    int dims[] = {n}, periods[] = {1};
    shmemx_graph_t ring;
    shmemx_req_h request;
    REQUIRE(shmemx_cart_create(WORLD, 1, dims, periods, &ring) == 0);
    shmemx_neighbor_alltoall_init(ring, dest, source, (size_t)LARGEST, &request);
    memset(source, me, 2 * (size_t)LARGEST);
    if (me == n - 1) {
        usleep(20000);
        shmemx_req_start(&request);
        shmemx_req_wait(&request);
        for (int pe = 0; pe < n; pe++)
            shmem_signal_add(&signal, 1, pe);
    } else {
        shmemx_req_start(&request);
        shmem_signal_wait_until(&signal, SHMEM_CMP_GE, 1);
        shmemx_req_wait(&request);
    }
    CHECK(dest[0] == left_of(me) && dest[2 * LARGEST - 1] == right_of(me));
    shmemx_req_free(&request);
    shmemx_graph_destroy(ring);
}

/* The memory of a request that is freed is another one's: all together have more than there is. A receiver that is
 * late says after its sender's free that it has ended the round. In brief forms, most are not started: between hosts,
 * 160 MB take seconds. */
static void freed_requests(void)
{
    enum { BYTES = 8192, EDGES = 100, TIMES = 200, STARTED = REPEAT(1, 5) };
    int there[EDGES], none[1];
    for (int i = 0; i < EDGES; i++)
        there[i] = (me ^ 1) < n ? me ^ 1 : me;
    shmemx_graph_t graph;
    REQUIRE(shmemx_graph_create(WORLD, me % 2 ? EDGES : 0, me % 2 ? there : none, me % 2 || there[0] == me ? 0 : EDGES,
                                there, &graph) == 0);
    for (int i = 0; i < TIMES; i++) {
        shmemx_req_h request;
        memset(source, i, (size_t)BYTES * EDGES);
        CHECK(shmemx_neighbor_alltoall_init(graph, dest, source, BYTES, &request) == 0);
        if (i % STARTED == 0) {
            shmemx_req_start(&request);
            if (me % 2 && i % 50 == 0)
                usleep(1000);
            shmemx_req_wait(&request);
            CHECK(me % 2 == 0 || (dest[0] == i && dest[(size_t)BYTES * EDGES - 1] == i));
        }
        shmemx_req_free(&request);
    }
    shmemx_graph_destroy(graph);
}

/* A sender is three rounds ahead of a receiver that sleeps in a barrier, and that has to say that it has the first. */
static void ahead_of_a_sleeper(void)
{
    enum { ROUNDS = 3 };
    int receives = me % 2, sends = !receives && me + 1 < n, before = me - 1, after = me + 1;
    shmemx_graph_t graph;
    shmemx_req_h request;
    REQUIRE(shmemx_graph_create(WORLD, receives, &before, sends, &after, &graph) == 0);
    CHECK(shmemx_neighbor_alltoall_init(graph, dest, source, 8, &request) == 0);
    if (!receives)
        usleep(20000);
    for (int round = 0; round < ROUNDS; round++) {
        source[0] = (unsigned char)(round + 1);
        shmemx_req_start(&request);
        if (receives && round == 0)
            shmem_barrier_all();
        shmemx_req_wait(&request);
        CHECK(!receives || dest[0] == round + 1);
    }
    if (!receives)
        shmem_barrier_all();
    shmemx_req_free(&request);
    shmemx_graph_destroy(graph);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    dest = checked_malloc(ROOM);
    source = checked_malloc(ROOM);
    shmem_team_t reversed, evens = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(WORLD, n - 1, -1, n, NULL, 0, &reversed);
    shmem_team_split_strided(WORLD, 0, 2, (n + 1) / 2, NULL, 0, &evens);
    shmemx_graph_t none = (shmemx_graph_t)&none;
    CHECK(shmemx_graph_create(SHMEM_TEAM_INVALID, 0, NULL, 0, NULL, &none) == -1 && none == SHMEMX_GRAPH_INVALID);
    shmemx_graph_destroy(none);
    for (int i = 0; i < REPEAT(12, 3); i++) {
        random_graph(WORLD, i % 2);
        random_graph(reversed, 1 - i % 2);
        uint64_t common = state;
        if (evens != SHMEM_TEAM_INVALID)
            random_graph(evens, i % 2);
        state = common + 1;
    }
    grids();
    beside_a_wait();
    freed_requests();
    ahead_of_a_sleeper();
    return finish();
}
