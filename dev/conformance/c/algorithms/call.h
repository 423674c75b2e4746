/* Every collective on a group: calls are made ready, made, and what they left is checked. Several
 * can be made one after the other without any synchronisation in between, each in arrays of its
 * own. */
#ifndef ALGORITHMS_CALL_H
#define ALGORITHMS_CALL_H

#include "group.h"

enum kind {
    SYNC, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, INT_SUM, DOUBLE_SUM, SHORT_MAX,
    LONGDOUBLE_MIN, LONG_XOR, UCHAR_AND, COMPLEX_PROD, INT_INSCAN, DOUBLE_EXSCAN, KINDS
};

typedef struct {
    enum kind kind;
    /* Elements of a block. */
    size_t n;
    int root, in_place;
    /* Makes the data of one call differ from the next's. */
    unsigned salt;
    /* Which of the group's arrays it uses. */
    int array;
} Call;

/* ---------------------------------------------------------------- data */

static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Byte `i` of what world PE `pe` has for member `to` (0 where all get the same). */
static unsigned char byte_of(const Call *c, int pe, int to, size_t i)
{
    uint32_t of = (uint32_t)(pe * 64 + to) * 2654435761u + c->salt * 40503u;
    return (unsigned char)((of >> 16) + i * 31 + (i >> 8) * 7);
}

/* Element `i` of what world PE `pe` reduces. */
static uint32_t number_of(const Call *c, int pe, size_t i)
{
    return mixed((uint32_t)pe * 2654435761u + c->salt * 40503u + (uint32_t)i);
}

#define INT_OF(c, pe, i) ((unsigned)number_of(c, pe, i))
/* Whole numbers: their sums are exact in any order. */
#define DOUBLE_OF(c, pe, i) ((double)(int)number_of(c, pe, i))
#define SHORT_OF(c, pe, i) ((short)number_of(c, pe, i))
#define LONGDOUBLE_OF(c, pe, i) ((long double)(int)number_of(c, pe, i))
#define LONG_OF(c, pe, i) ((long)number_of(c, pe, i) << 20)
#define UCHAR_OF(c, pe, i) ((unsigned char)(number_of(c, pe, i) | number_of(c, pe + 1, i)))
/* Units: 1, i, -1, -i. */
#define COMPLEX_OF(c, pe, i) (units[number_of(c, pe, i) % 4])
static const double _Complex units[4] = {1.0, 1.0i, -1.0, -1.0i};

/* The element sizes of routines that move data, by the salt of a call. */
static size_t width_of(const Group *g, const Call *c)
{
    int set = g->team == SHMEM_TEAM_INVALID;
    return set ? (c->salt % 2 ? 8 : 4) : (size_t[]){1, 4, 8}[c->salt % 3];
}

static size_t element_of(const Group *g, const Call *c)
{
    switch (c->kind) {
    case SYNC: return 0;
    case INT_SUM: case INT_INSCAN: return sizeof(int);
    case DOUBLE_SUM: case DOUBLE_EXSCAN: return sizeof(double);
    case SHORT_MAX: return sizeof(short);
    case LONGDOUBLE_MIN: return sizeof(long double);
    case LONG_XOR: return sizeof(long);
    case UCHAR_AND: return sizeof(unsigned char);
    case COMPLEX_PROD: return sizeof(double _Complex);
    default: return width_of(g, c);
    }
}

/* How many elements member `m` contributes to a collect. */
static size_t share_of(const Group *g, const Call *c, int m)
{
    switch (c->salt % 5) {
    case 0: return m == c->root ? c->n : 0;
    case 1: return c->n * (size_t)(m + 1) / (size_t)g->size;
    case 2: return m % 2 ? c->n : 0;
    default: return (c->n + (size_t)m * 13) % (c->n + 1);
    }
}

static ptrdiff_t dst_of(const Call *c) { return 1 + c->salt % 2; }
static ptrdiff_t sst_of(const Call *c) { return 1 + c->salt / 2 % 2; }

/* Blocks of the longest array of a call. */
static size_t blocks_of(const Group *g, const Call *c)
{
    switch (c->kind) {
    case COLLECT: case FCOLLECT: case ALLTOALL: return (size_t)g->size;
    case ALLTOALLS: return 2 * (size_t)g->size;
    default: return 1;
    }
}

/* The most elements that fit. */
static size_t fitting(const Group *g, const Call *c, size_t n)
{
    size_t element = element_of(g, c);
    size_t most = element == 0 ? 0 : g->capacity / element / blocks_of(g, c);
    return n < most ? n : most;
}

static int may_be_in_place(enum kind kind)
{
    return kind == BROADCAST || kind >= INT_SUM;
}

/* ---------------------------------------------------------------- before a call */

#define FILL(type, of)                                                                             \
    for (size_t i = 0; i < c->n; i++)                                                              \
    ((type *)source)[i] = of(c, pe, i)

/* Fills the arrays; when all members have done so and synchronised, the call may be made. */
static void prepare(Group *g, Call *c)
{
    c->n = fitting(g, c, c->n);
    c->root %= g->size;
    c->in_place = c->in_place && may_be_in_place(c->kind);
    char *source = g->source[c->array];
    int pe = shmem_my_pe();
    size_t bytes = c->n * element_of(g, c);
    memset(g->dest[c->array], 0xA5, c->n * element_of(g, c) * blocks_of(g, c) + GUARD);
    switch (c->kind) {
    case SYNC: break;
    case INT_SUM: case INT_INSCAN: FILL(unsigned, INT_OF); break;
    case DOUBLE_SUM: case DOUBLE_EXSCAN: FILL(double, DOUBLE_OF); break;
    case SHORT_MAX: FILL(short, SHORT_OF); break;
    case LONGDOUBLE_MIN: FILL(long double, LONGDOUBLE_OF); break;
    case LONG_XOR: FILL(long, LONG_OF); break;
    case UCHAR_AND: FILL(unsigned char, UCHAR_OF); break;
    case COMPLEX_PROD: FILL(double _Complex, COMPLEX_OF); break;
    case ALLTOALL:
        for (int m = 0; m < g->size; m++)
            for (size_t i = 0; i < bytes; i++)
                source[(size_t)m * bytes + i] = (char)byte_of(c, pe, m, i);
        break;
    case ALLTOALLS: {
        size_t width = width_of(g, c), stride = (size_t)sst_of(c);
        for (size_t e = 0; e < (size_t)g->size * c->n; e++)
            for (size_t i = 0; i < width; i++)
                source[e * stride * width + i] =
                    (char)byte_of(c, pe, (int)(e / c->n), e % c->n * width + i);
        break;
    }
    default:
        for (size_t i = 0; i < bytes; i++)
            source[i] = (char)byte_of(c, pe, 0, i);
    }
    /* Behind an array in place. */
    memset(source + c->n * element_of(g, c) * blocks_of(g, c), 0xA5, GUARD);
}

/* ---------------------------------------------------------------- the calls */

#define SET g->start, g->log_stride, g->size

/* By the size of elements: a routine of bytes, of int and of long; of sets only the latter. */
#define MOVE(result, name, ...)                                                                    \
    do {                                                                                           \
        if (width == 1)                                                                            \
            result = shmem_##name##mem(g->team, dest, source, __VA_ARGS__);                        \
        else if (width == 4)                                                                       \
            result = shmem_int_##name(g->team, (int *)dest, (int *)source, __VA_ARGS__);           \
        else                                                                                       \
            result = shmem_long_##name(g->team, (long *)dest, (long *)source, __VA_ARGS__);        \
    } while (0)
#define MOVE_SET(name, ...)                                                                        \
    do {                                                                                           \
        if (width == 4)                                                                            \
            shmem_##name##32(__VA_ARGS__, SET, next_psync(g));                                     \
        else                                                                                       \
            shmem_##name##64(__VA_ARGS__, SET, next_psync(g));                                     \
    } while (0)
#define REDUCE(type, name, op)                                                                     \
    do {                                                                                           \
        if (!is_set)                                                                               \
            rc = shmem_##name##_##op##_reduce(g->team, (type *)dest, (type *)source, c->n);        \
        else                                                                                       \
            shmem_##name##_##op##_to_all((type *)dest, (type *)source, (int)c->n, SET,             \
                                         (type *)g->work, next_psync(g));                          \
    } while (0)

/* Whether there is such a routine: sets have no scans, and no unsigned types. */
static int exists(const Group *g, enum kind kind)
{
    int is_set = g->team == SHMEM_TEAM_INVALID;
    return !is_set || (kind != UCHAR_AND && kind != INT_INSCAN && kind != DOUBLE_EXSCAN);
}

static void perform(Group *g, const Call *c)
{
    int rc = 0, is_set = g->team == SHMEM_TEAM_INVALID;
    size_t width = width_of(g, c), n = c->n;
    char *source = g->source[c->array], *dest = c->in_place ? source : g->dest[c->array];
    switch (c->kind) {
    case SYNC: group_sync(g); break;
    case BROADCAST:
        if (is_set)
            MOVE_SET(broadcast, dest, source, n, c->root);
        else
            MOVE(rc, broadcast, n, c->root);
        break;
    case COLLECT: {
        size_t mine = share_of(g, c, g->me);
        if (is_set) {
            MOVE_SET(collect, dest, source, mine);
        } else {
            /* Of nothing, the address does not matter. */
            source = mine == 0 && c->salt % 2 ? NULL : source;
            MOVE(rc, collect, mine);
        }
        break;
    }
    case FCOLLECT:
        if (is_set)
            MOVE_SET(fcollect, dest, source, n);
        else
            MOVE(rc, fcollect, n);
        break;
    case ALLTOALL:
        if (is_set)
            MOVE_SET(alltoall, dest, source, n);
        else
            MOVE(rc, alltoall, n);
        break;
    case ALLTOALLS:
        if (is_set)
            MOVE_SET(alltoalls, dest, source, dst_of(c), sst_of(c), n);
        else
            MOVE(rc, alltoalls, dst_of(c), sst_of(c), n);
        break;
    case INT_SUM: REDUCE(int, int, sum); break;
    case DOUBLE_SUM: REDUCE(double, double, sum); break;
    case SHORT_MAX: REDUCE(short, short, max); break;
    case LONGDOUBLE_MIN: REDUCE(long double, longdouble, min); break;
    case LONG_XOR: REDUCE(long, long, xor); break;
    case COMPLEX_PROD: REDUCE(double _Complex, complexd, prod); break;
    case UCHAR_AND:
        rc = shmem_uchar_and_reduce(g->team, (unsigned char *)dest, (unsigned char *)source, n);
        break;
    case INT_INSCAN: rc = shmem_int_sum_inscan(g->team, (int *)dest, (int *)source, n); break;
    case DOUBLE_EXSCAN:
        rc = shmem_double_sum_exscan(g->team, (double *)dest, (double *)source, n);
        break;
    default: abort();
    }
    CHECK(rc == 0, "%s kind %d: %d", g->name, c->kind, rc);
}

/* ---------------------------------------------------------------- after a call */

/* One line for a call that went wrong. */
#define WRONG(c, g, what, at)                                                                      \
    check_failed(__FILE__, __LINE__, what, " %s (%d of %d), kind %d, %zu elements, root %d%s, "    \
                 "salt %u: at %zu", (g)->name, (g)->me, (g)->size, (c)->kind, (c)->n, (c)->root,   \
                 (c)->in_place ? " in place" : "", (c)->salt, (size_t)(at))

static void expect_bytes(const Group *g, const Call *c, const char *at, int pe, int to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] != byte_of(c, pe, to, i)) {
            WRONG(c, g, "data", i);
            return;
        }
}

static void expect_untouched(const Group *g, const Call *c, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] != 0xA5) {
            WRONG(c, g, "untouched", i);
            return;
        }
}

#define EXPECT(type, of, first, last, identity, combine)                                           \
    for (size_t i = 0; i < c->n; i++) {                                                            \
        type want = identity;                                                                      \
        for (int m = first; m < last; m++) {                                                       \
            type next = of(c, world_pe(g, m), i);                                                  \
            want = m == first ? next : (type)(combine);                                            \
        }                                                                                          \
        if (((const type *)dest)[i] != want) {                                                     \
            WRONG(c, g, "result", i);                                                              \
            break;                                                                                 \
        }                                                                                          \
    }

static void verify(const Group *g, const Call *c)
{
    const char *dest = c->in_place ? g->source[c->array] : g->dest[c->array];
    size_t bytes = c->n * element_of(g, c), end = bytes;
    switch (c->kind) {
    case SYNC: return;
    case BROADCAST:
        /* Of sets, the root's own destination stays. */
        if (g->team == SHMEM_TEAM_INVALID && g->me == c->root && !c->in_place)
            expect_untouched(g, c, dest, bytes);
        else
            expect_bytes(g, c, dest, world_pe(g, c->root), 0, bytes);
        break;
    case COLLECT:
        end = 0;
        for (int m = 0; m < g->size; m++) {
            size_t n = share_of(g, c, m) * width_of(g, c);
            expect_bytes(g, c, dest + end, world_pe(g, m), 0, n);
            end += n;
        }
        break;
    case FCOLLECT: case ALLTOALL:
        for (int m = 0; m < g->size; m++)
            expect_bytes(g, c, dest + (size_t)m * bytes, world_pe(g, m),
                         c->kind == ALLTOALL ? g->me : 0, bytes);
        end = (size_t)g->size * bytes;
        break;
    case ALLTOALLS: {
        size_t width = width_of(g, c), step = (size_t)dst_of(c) * width;
        for (size_t e = 0; e < (size_t)g->size * c->n; e++) {
            for (size_t i = 0; i < width; i++) {
                int pe = world_pe(g, (int)(e / c->n));
                unsigned char want = byte_of(c, pe, g->me, e % c->n * width + i);
                if ((unsigned char)dest[e * step + i] != want) {
                    WRONG(c, g, "element", e);
                    return;
                }
            }
            expect_untouched(g, c, dest + e * step + width, step - width);
        }
        end = (size_t)g->size * c->n * step;
        break;
    }
    case INT_SUM: EXPECT(unsigned, INT_OF, 0, g->size, 0, want + next) break;
    case DOUBLE_SUM: EXPECT(double, DOUBLE_OF, 0, g->size, 0, want + next) break;
    case SHORT_MAX: EXPECT(short, SHORT_OF, 0, g->size, 0, want > next ? want : next) break;
    case LONGDOUBLE_MIN:
        EXPECT(long double, LONGDOUBLE_OF, 0, g->size, 0, want < next ? want : next) break;
    case LONG_XOR: EXPECT(long, LONG_OF, 0, g->size, 0, want ^ next) break;
    case UCHAR_AND: EXPECT(unsigned char, UCHAR_OF, 0, g->size, 0, want & next) break;
    case COMPLEX_PROD: EXPECT(double _Complex, COMPLEX_OF, 0, g->size, 0, want * next) break;
    case INT_INSCAN: EXPECT(unsigned, INT_OF, 0, g->me + 1, 0, want + next) break;
    case DOUBLE_EXSCAN: EXPECT(double, DOUBLE_OF, 0, g->me, 0, want + next) break;
    default: abort();
    }
    expect_untouched(g, c, dest + end, GUARD);
}

/* One call by itself. */
__attribute__((unused)) static void call(Group *g, Call c)
{
    if (!exists(g, c.kind))
        return;
    prepare(g, &c);
    group_sync(g);
    perform(g, &c);
    verify(g, &c);
}

/* ---------------------------------------------------------------- random calls */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return mixed(*state);
}

/* A few random calls, one directly after the other; all members have the same `state`. */
__attribute__((unused)) static void random_calls(Group *g, uint32_t *state, size_t longest)
{
    Call calls[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        uint32_t r = next_random(state), length = next_random(state);
        calls[i] = (Call){
            .kind = r % KINDS, .root = (int)(r >> 8 & 0xff), .in_place = r >> 16 & 1,
            .salt = r >> 18, .array = i,
            /* Short ones more often. */
            .n = length % (length & 0x10000 ? longest + 1 : longest / 64 + 1),
        };
        if (!exists(g, calls[i].kind))
            calls[i].kind = INT_SUM;
        prepare(g, &calls[i]);
    }
    group_sync(g);
    for (int i = 0; i < ARRAYS; i++)
        perform(g, &calls[i]);
    for (int i = 0; i < ARRAYS; i++)
        verify(g, &calls[i]);
}

#endif
