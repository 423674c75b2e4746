/* Collectives that MPI has and the standard has not (extension): over teams of all kinds, of no bytes and many, one
 * after the other without a synchronisation, by PEs that come late. */
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define WORLD SHMEM_TEAM_WORLD
/* Elements for all members together: from those that library memory holds to those that only arrays do. */
#define LARGEST REPEAT(40000, 5000)
static const size_t PARTS[] = {0, 1, 5, 27, 55, 200, LARGEST};
#define MOST_MEMBERS 64

static int me, n, late;
static long *dest, *source;
/* Displacements, and those of the exchange, which other PEs read. */
static size_t displs[MOST_MEMBERS], places[MOST_MEMBERS];

static long value(int from, int to, size_t i)
{
    return from * 1000003L + to * 1009L + (long)i;
}

/* Elements of the block between two members. */
static size_t length(int from, int to, size_t part)
{
    return part * (size_t)((from * 5 + to * 3) % 4) / 4;
}

/* Everything in dest is -1; the blocks in source are those for each member. */
static void fill(int team_me, int size, size_t part)
{
    for (int to = 0; to < size; to++)
        for (size_t i = 0; i < part; i++)
            source[(size_t)to * part + i] = value(team_me, to, i);
    memset(dest, 0xff, (LARGEST + 2 * MOST_MEMBERS) * sizeof *dest);
    if (late++ % 7 == me)
        usleep(300);
}

/* Whether `count` elements from `at` on are those of a block, and those behind it are as they were. */
static void expect(const long *at, int from, int to, size_t count, size_t behind)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] != value(from, to, i)) {
            CHECK(at[i] == value(from, to, i), "element %zu of %zu from %d to %d is %ld", i, count, from, to, at[i]);
            return;
        }
    for (size_t i = count; i < count + behind; i++)
        CHECK(at[i] == -1, "behind %zu elements", count);
}

/* Calls a collective, begins and ends it, or starts a request of it. */
enum way { WAITS, BEGINS, STARTS, WAYS };
static shmemx_req_h request;

static int end_of(enum way way, int status)
{
    if (way == STARTS)
        shmemx_req_start(&request);
    shmemx_req_wait(&request);
    shmemx_req_free(&request);
    return status;
}

#define RUN(NAME, ...)                                                                             \
    CHECK((way == WAITS    ? NAME(__VA_ARGS__)                                                     \
           : way == BEGINS ? end_of(way, NAME##_nb(__VA_ARGS__, &request))                         \
                           : end_of(way, NAME##_init(__VA_ARGS__, &request)))                      \
              == 0,                                                                                \
          "way %d", way)

static void blocks(shmem_team_t team, int root, size_t part, enum way way)
{
    int team_me = shmem_team_my_pe(team), size = shmem_team_n_pes(team);

    fill(team_me, size, part);
    RUN(shmemx_gather, team, dest, source, part, root);
    /* May change once the call has returned. */
    memset(source, 0, part * sizeof *source);
    for (int k = 0; team_me == root && k < size; k++)
        expect(dest + (size_t)k * part, k, 0, part, 0);
    expect(dest + (team_me == root ? (size_t)size * part : 0), 0, 0, 0, 1);
    shmem_team_sync(team);

    fill(team_me, size, part);
    RUN(shmemx_scatter, team, dest, source, part, root);
    memset(source, 0, part * sizeof *source);
    expect(dest, root, team_me, part, 1);
    shmem_team_sync(team);

    /* Displacements with room between blocks, the last member's first; only the root's count. */
    for (int k = 0; k < size; k++)
        displs[k] = team_me == root ? (size_t)(size - 1 - k) * (part + 1) : SIZE_MAX / 3;
    size_t mine = length(team_me, root, part);
    fill(team_me, size, part);
    RUN(shmemx_gatherv, team, dest, source, displs, mine, root);
    for (int k = 0; team_me == root && k < size; k++)
        expect(dest + displs[k], k, 0, length(k, root, part), 1);
    if (team_me != root)
        expect(dest, 0, 0, 0, 2);
    shmem_team_sync(team);

    fill(team_me, size, part);
    for (int k = 0; team_me == root && k < size; k++)
        displs[k] = (size_t)k * part;
    RUN(shmemx_scatterv, team, dest, source, displs, mine, root);
    expect(dest, root, team_me, mine, 1);
    shmem_team_sync(team);

    size_t counts[MOST_MEMBERS], starts[MOST_MEMBERS];
    for (int k = 0; k < size; k++) {
        counts[k] = length(team_me, k, part);
        starts[k] = (size_t)k * part;
        places[k] = (size_t)(size - 1 - k) * (part + 1);
    }
    fill(team_me, size, part);
    RUN(shmemx_alltoallv, team, dest, places, source, starts, counts);
    for (int k = 0; k < size; k++)
        expect(dest + places[k], k, team_me, length(k, team_me, part), 1);
    shmem_team_sync(team);
}

struct map {
    int factor, term;
};

/* x -> factor * x + term, one after the other: operands may not be swapped. Numbers stay small. */
static void after(void *into, const void *first, const void *second, size_t count)
{
    const struct map *a = first, *b = second;
    struct map *both = into;
    for (size_t i = 0; i < count; i++) {
        struct map result = {a[i].factor * b[i].factor % 10007, (a[i].term * b[i].factor + b[i].term) % 10007};
        both[i] = result;
    }
}

static struct map map_of(int pe, size_t i)
{
    struct map map = {(int)(i % 50) + pe + 1, pe + 3};
    return map;
}

/* Of so many elements, and for each member as many in a block: to all, to the root, to each a block of one length or of
 * several; and of the members before. */
static void reductions(shmem_team_t team, int root, size_t part, enum way way)
{
    enum { ALL, TO_ROOT, IN_PLACE, BLOCKS, COUNTS, INSCAN, EXSCAN, FORMS };
    static int op;
    int team_me = shmem_team_my_pe(team), size = shmem_team_n_pes(team), type = SHMEMX_OPAQUE + sizeof(struct map);
    size_t counts[MOST_MEMBERS], first = 0;
    for (int k = 0; k < size; k++) {
        counts[k] = length(k, root, part);
        first += k < team_me ? counts[k] : 0;
    }
    CHECK(shmemx_op_create(after, 0, &op) == 0);
    for (int form = ALL; form < FORMS; form++) {
        struct map *from = (struct map *)source, *to = form == IN_PLACE ? from : (struct map *)dest;
        size_t count = form == BLOCKS || form == COUNTS ? part * (size_t)size : part;
        size_t own = form == COUNTS ? counts[team_me] : part;
        fill(team_me, size, 0);
        for (size_t i = 0; i < count; i++)
            from[i] = map_of(team_me, i);
        switch (form) {
        case ALL:
            RUN(shmemx_reduce, team, to, from, part, type, op);
            break;
        case BLOCKS:
            RUN(shmemx_reduce_scatter, team, to, from, part, type, op);
            break;
        case COUNTS:
            RUN(shmemx_reduce_scatterv, team, to, from, counts, type, op);
            break;
        case INSCAN:
        case EXSCAN:
            RUN(shmemx_op_scan, team, to, from, part, type, op, form == INSCAN);
            break;
        default:
            RUN(shmemx_reduce_root, team, to, from, part, type, op, root);
        }
        int is_mine = team_me == root || (form != TO_ROOT && form != IN_PLACE);
        int operands = form == INSCAN ? team_me + 1 : form == EXSCAN ? team_me : size;
        for (size_t i = 0; i <= own; i++) {
            size_t number = form == BLOCKS ? (size_t)team_me * part + i : form == COUNTS ? first + i : i;
            struct map right = map_of(0, number);
            for (int k = 1; k < operands; k++) {
                struct map next = map_of(k, number);
                after(&right, &right, &next, 1);
            }
            if (operands == 0)
                memset(&right, 0, sizeof right);
            if (!is_mine || i == own)
                memset(&right, 0xff, sizeof right);
            if ((!is_mine || i == own) && form == IN_PLACE)
                right = i == own ? to[i] : map_of(team_me, i);
            if (memcmp(&to[i], &right, sizeof right) != 0) {
                CHECK(0, "form %d, way %d, element %zu of %zu: %d %d", form, way, i, own, to[i].factor, to[i].term);
                break;
            }
        }
        shmem_team_sync(team);
    }
    shmemx_op_free(&op);
    CHECK(op == SHMEMX_OP_INVALID);
}

/* Each type has its operators: to the root, and a block to each. */
#define TYPE(T)                                                                                    \
    do {                                                                                           \
        static T from[MOST_MEMBERS], to;                                                           \
        for (int k = 0; k < n; k++)                                                                \
            from[k] = (T)(me == k);                                                                \
        CHECK(shmemx_sum_reduce_scatter(WORLD, &to, from, 1) == 0 && to == 1);                     \
        to = 0;                                                                                    \
        CHECK(shmemx_sum_reduce_scatterv(WORLD, &to, from, ones) == 0 && to == 1);                 \
        CHECK(shmemx_max_reduce_scatterv(WORLD, &to, from, ones) == 0 && to == 1);                 \
        CHECK(shmemx_max_reduce_root(WORLD, &to, from, 1, n - 1) == 0 && to == 1);                 \
        CHECK(shmemx_min_reduce_root(WORLD, &to, from, 1, 0) == 0);                                \
        CHECK(me != 0 || to == (n == 1));                                                          \
        CHECK(shmemx_prod_reduce_scatter(WORLD, &to, from, 1) == 0 && to == (n == 1));             \
        shmem_sync_all();                                                                          \
    } while (0)
#define LOCATE(T)                                                                                  \
    do {                                                                                           \
        static struct {                                                                            \
            T value;                                                                               \
            int index;                                                                             \
        } from[3], to[3];                                                                          \
        for (int k = 0; k < 3; k++) {                                                              \
            from[k].value = (T)((me + k) % 3);                                                     \
            from[k].index = me;                                                                    \
        }                                                                                          \
        CHECK(shmemx_minloc_reduce(WORLD, to, from, 3) == 0);                                      \
        CHECK(to[0].value == 0 && to[0].index == 0);                                               \
        CHECK(n < 3 || (to[1].value == 0 && to[1].index == 2));                                    \
        CHECK(shmemx_maxloc_reduce(WORLD, to, from, 3) == 0);                                      \
        CHECK(to[2].value == 2 && to[2].index == 0);                                               \
        CHECK(n < 3 || (to[0].value == 2 && to[0].index == 2));                                    \
    } while (0)

static void types(void)
{
    size_t ones[MOST_MEMBERS];
    for (int k = 0; k < n; k++)
        ones[k] = 1;
    TYPE(signed char);
    TYPE(unsigned short);
    TYPE(int);
    TYPE(unsigned long);
    TYPE(float);
    TYPE(double);
    TYPE(long double);
    LOCATE(int);
    LOCATE(long);
    LOCATE(float);
    LOCATE(double);
    static unsigned bits, all;
    bits = me ? 6 : 3;
    CHECK(shmemx_and_reduce_root(WORLD, &all, &bits, 1, 0) == 0 && (me || all == (n > 1 ? 2 : 3)));
    CHECK(shmemx_or_reduce_root(WORLD, &all, &bits, 1, 0) == 0 && (me || all == (n > 1 ? 7 : 3)));
    CHECK(shmemx_xor_reduce_root(WORLD, &all, &bits, 1, 0) == 0 && (me || all == (n % 2 ? 3 : 5)));
}

/* Numbers of 16 bits: of each element, one PE has 2^e, whose next number is 2 more, the others have 1. */
static void halves(int datatype, unsigned great, unsigned one)
{
    enum { COUNT = 3000 };
    static unsigned short from[COUNT], to[COUNT];
    unsigned steps = (unsigned)(n - 1) / 2, odd = (unsigned)(n - 1) % 2;
    unsigned short right = (unsigned short)(great + steps + (odd && steps % 2));
    for (int form = 0; form < 4; form++)
        for (size_t count = 1; count <= COUNT; count += (COUNT - 1) / 2) {
            for (size_t i = 0; i < count; i++)
                from[i] = (unsigned short)((int)i % n == me ? great : one);
            shmem_sync_all();
            shmemx_req_h request = SHMEMX_REQ_INVALID;
            int status = form == 0   ? shmemx_reduce(WORLD, to, from, count, datatype, SHMEMX_SUM)
                         : form == 1 ? shmemx_reduce_root(WORLD, to, from, count, datatype, SHMEMX_SUM, 0)
                         : form == 2 ? shmemx_reduce(WORLD, to, from, count, datatype, SHMEMX_MAX)
                                     : shmemx_reduce_nb(WORLD, to, from, count, datatype, SHMEMX_SUM, &request);
            CHECK(status == 0);
            shmemx_req_wait(&request);
            for (size_t i = 0; (form != 1 || me == 0) && i < count; i++)
                if (to[i] != (form == 2 ? great : right)) {
                    CHECK(0, "form %d, element %zu of %zu: %#x, not %#x", form, i, count, to[i], right);
                    break;
                }
        }
}

/* Small ones in a row, whose roots run on the others' values and whose other members run ahead. */
static void row(shmem_team_t team)
{
    int team_me = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
    for (int i = 0; i < REPEAT(400, 40); i++) {
        int root = i % 5 % size;
        source[0] = value(team_me, i, 0);
        CHECK(shmemx_gather(team, dest, source, 1, root) == 0);
        for (int k = 0; team_me == root && k < size; k++)
            CHECK(dest[k] == value(k, i, 0), "gather %d", i);
        if (i % 3 == 0) {
            for (int k = 0; k < size; k++)
                source[k] = value(team_me, k, (size_t)i);
            CHECK(shmemx_scatter(team, dest + size, source, 1, root) == 0);
            CHECK(dest[size] == value(root, team_me, (size_t)i), "scatter %d", i);
        }
        if (i % 50 == 0)
            shmem_broadcastmem(team, dest, source, sizeof *dest, root);
        if (i % 64 == 8 * me)
            usleep(100);
    }
    shmem_team_sync(team);
}

static void all_of(shmem_team_t team)
{
    if (team == SHMEM_TEAM_INVALID)
        return;
    int size = shmem_team_n_pes(team);
    for (size_t k = 0; k < sizeof PARTS / sizeof *PARTS; k++) {
        size_t part = PARTS[k] == LARGEST ? LARGEST / (size_t)size : PARTS[k];
        for (enum way way = WAITS; way < WAYS; way++) {
            blocks(team, ((int)k + way) % size, part, way);
            reductions(team, ((int)k + way) % size, part, way);
        }
    }
    row(team);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    REQUIRE(n <= MOST_MEMBERS);
    dest = checked_malloc((LARGEST + 2 * MOST_MEMBERS) * sizeof *dest);
    source = checked_malloc((LARGEST + 2 * MOST_MEMBERS) * sizeof *source);
    shmem_team_t reversed, evens = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(WORLD, n - 1, -1, n, NULL, 0, &reversed);
    shmem_team_split_strided(WORLD, 0, 2, (n + 1) / 2, NULL, 0, &evens);
    if (getenv("SHMEM_CHECK") == NULL)
        CHECK(shmemx_gather(SHMEM_TEAM_INVALID, dest, source, 1, 0) == -1
              && shmemx_sum_reduce_root(SHMEM_TEAM_INVALID, dest, source, 1, 0) == -1);
    types();
    halves(SHMEMX_FLOATING + 2, 0x6800, 0x3c00);
    halves(SHMEMX_BFLOAT + 2, 0x4380, 0x3f80);
    all_of(WORLD);
    all_of(reversed);
    all_of(evens);
    shmem_barrier_all();
    return finish();
}
