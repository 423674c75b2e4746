/* Collectives between groups, and contexts of groups. The first argument is the number of children, the second one
 * their program: it may be this one, or one whose arrays lie elsewhere (-DELSEWHERE). Groups use the heap or globals,
 * in turn, and the children's heap begins with a block that the parents do not have. */
#include "../check.h"

#include <shmemx.h>
#include <unistd.h>

enum { MOST = 16, BYTES = MOST * REPEAT(40000, 5000) };

#ifdef ELSEWHERE
long before[5000] = {1};
#endif
static unsigned char global_to[BYTES], global_from[BYTES];
static unsigned char *heap_to, *heap_from;
static long cells[2 * MOST], word;

static shmemx_group_t group;
static int me, own, others, side;

/* Byte i of what a PE of a group contributes in a round. */
static unsigned char value(int of_side, int pe, int round, size_t i)
{
    return (unsigned char)(i * 7 + (size_t)(97 * of_side + 13 * pe + round));
}

static int arrived(const unsigned char *at, size_t n, int of_side, int pe, int round, size_t from)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != value(of_side, pe, round, from + i))
            return 0;
    return 1;
}

static void fill(unsigned char *at, size_t n, int round)
{
    for (size_t i = 0; i < n; i++)
        at[i] = value(side, me, round, i);
}

/* Some PE is late now and then. */
static void be_late(int round)
{
    if ((me + 3 * side + round) % 5 == 0)
        usleep((useconds_t)(100 * (round % 7)));
}

static int root_of(int root_side, int root)
{
    return side != root_side ? root : me == root ? SHMEMX_ROOT : SHMEMX_PROC_NULL;
}

static void broadcast(unsigned char *to, unsigned char *from, size_t n, int round)
{
    for (int root_side = 0; root_side < 2; root_side++) {
        int size = root_side == side ? own : others;
        for (int root = 0; root < size; root += size > 4 ? size - 1 : 1) {
            int part = root_of(root_side, root);
            be_late(round);
            fill(from, n, round);
            memset(to, 255, n);
            /* What does not count here need not be an array. */
            CHECK(shmemx_group_broadcastmem(group, part >= 0 ? to : NULL, part == SHMEMX_ROOT ? from : NULL,
                                            n, part) == 0);
            if (part == SHMEMX_ROOT)
                memset(from, 0, n);
            CHECK(side == root_side || arrived(to, n, root_side, root, round, 0), "%zu bytes of %d", n, root);
        }
    }
}

/* Each group contributes another number of bytes. */
static void exchange(unsigned char *to, unsigned char *from, const size_t bytes[2], int round)
{
    size_t sent = bytes[side], got = bytes[1 - side];
    be_late(round);
    fill(from, sent, round);
    CHECK(shmemx_group_fcollectmem(group, to, got, from, sent) == 0);
    memset(from, 0, sent);
    for (int i = 0; i < others; i++)
        CHECK(arrived(to + (size_t)i * got, got, 1 - side, i, round, 0), "%zu bytes of %d", got, i);
    be_late(round + 1);
    fill(from, sent * (size_t)others, round + 1);
    CHECK(shmemx_group_alltoallmem(group, to, got, from, sent) == 0);
    memset(from, 0, sent * (size_t)others);
    for (int i = 0; i < others; i++)
        CHECK(arrived(to + (size_t)i * got, got, 1 - side, i, round + 1, (size_t)me * got),
              "%zu bytes of %d", got, i);
}

static void reduce(long *to, long *from, size_t n, int round)
{
    be_late(round);
    for (size_t i = 0; i < n; i++)
        from[i] = (long)i + 1000 * side + me;
    CHECK(shmemx_long_group_sum_reduce(group, to, from, n) == 0);
    for (size_t i = 0; i < n; i++)
        from[i] = -1;
    for (size_t i = 0; i < n; i++) {
        long expected = others * ((long)i + 1000 * (1 - side)) + (long)others * (others - 1) / 2;
        if (to[i] != expected) {
            CHECK(0, "element %zu of %zu is %ld, not %ld", i, n, to[i], expected);
            break;
        }
    }
    double *number = (double *)to, *part = (double *)from;
    for (size_t i = 0; i < n; i++)
        part[i] = me + 0.5 * side;
    CHECK(shmemx_group_max_reduce(group, number, part, n) == 0);
    CHECK(n == 0 || (number[0] == others - 1 + 0.5 * (1 - side) && number[n - 1] == number[0]), "%g", number[0]);
    unsigned *bits = (unsigned *)to, *bit = (unsigned *)from;
    for (size_t i = 0; i < n; i++)
        bit[i] = 1u << (me + 16 * side);
    CHECK(shmemx_group_or_reduce(group, bits, bit, n) == 0);
    CHECK(n == 0 || bits[n - 1] == ((1u << others) - 1) << (side ? 0 : 16), "%x", bits[n - 1]);
}

/* Many small calls after one another: no PE may be overtaken, and none waits for those it does not need. */
static void many(void)
{
    for (int i = 0; i < REPEAT(500, 100); i++) {
        long number = i, got = -1;
        int part = root_of(i % 3 == 0, i % 2 == 0 || own == 1 || others == 1 ? 0 : 1);
        be_late(i);
        memcpy(heap_from, &number, sizeof number);
        shmemx_group_broadcastmem(group, heap_to, heap_from, sizeof number, part);
        memcpy(&got, heap_to, sizeof got);
        CHECK(part < 0 || got == i, "%ld in broadcast %d", got, i);
        if (i % 50 == 0)
            CHECK(shmemx_group_sync(group) == 0);
    }
}

/* On a context of the group, the other group's PEs are numbered from 0. */
static void context(int with_globals)
{
    shmem_ctx_t ctx;
    shmem_team_t team;
    REQUIRE(shmemx_group_create_ctx(group, 0, &ctx) == 0);
    CHECK(shmem_ctx_get_team(ctx, &team) != 0 && team == SHMEM_TEAM_INVALID);
    long *at = with_globals ? cells : shmemx_import(group, "cells", sizeof cells);
    REQUIRE(at != NULL);
    shmemx_group_barrier(group);
    for (int i = 0; i < others; i++) {
        long number = 100 + me, old;
        shmem_ctx_long_p(ctx, &at[me], number, i);
        shmem_ctx_long_put_nbi(ctx, &at[MOST + me], &number, 1, i);
        shmem_ctx_quiet(ctx);
        CHECK(shmem_ctx_long_g(ctx, &at[me], i) == number);
        old = shmem_ctx_long_atomic_fetch_add(ctx, &at[me], 5, i);
        CHECK(old == number, "%ld", old);
    }
    shmem_ctx_fence(ctx);
    shmemx_group_barrier(group);
    for (int i = 0; i < others; i++)
        CHECK(cells[i] == 105 + i && cells[MOST + i] == 100 + i, "%ld, %ld", cells[i], cells[MOST + i]);
    shmemx_group_sync(group);
    if (own % 2 == 0)
        shmem_ctx_destroy(ctx);
    CHECK(shmemx_group_create_ctx(group, 1L << 40, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    CHECK(shmemx_group_create_ctx(SHMEMX_GROUP_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 8, 48, 60, 128, 500, 1000, 2048, 4100, BYTES / MOST};
    REQUIRE(argc > 2);
    shmem_init();
    group = shmemx_group_parents();
    side = group != SHMEMX_GROUP_INVALID;
    int is_same_program = strcmp(argv[0], argv[2]) == 0;
    if (side == 0) {
        char *args[] = {argv[1], argv[side ? 0 : 2], argv[0], NULL};
        shmemx_spawn_config_t config = {.argv = args};
        REQUIRE(shmemx_spawn(SHMEM_TEAM_WORLD, 0, argv[2], atoi(argv[1]), &config, SHMEMX_SPAWN_ARGV, &group) == 0);
    } else {
        REQUIRE(shmem_malloc(12345) != NULL);
        is_same_program = strcmp(argv[2], argv[3]) == 0;
    }
    me = shmem_my_pe();
    own = shmem_n_pes();
    others = shmemx_group_n_pes(group);
    shmemx_export("cells", cells, sizeof cells);
    heap_to = checked_malloc(BYTES);
    heap_from = checked_malloc(BYTES);
    CHECK(shmemx_group_barrier(group) == 0);
    /* Stores of one group before are seen by the other after. */
    if (is_same_program) {
        for (int i = 0; i < others; i++)
            shmem_long_p(&word, 1, shmemx_group_pe(group, i));
        CHECK(shmemx_group_barrier(group) == 0);
        CHECK(word == 1, "%ld", word);
    }

    int round = 0;
    for (int kind = 0; kind < 4; kind++) {
        unsigned char *to = (kind + side) % 2 ? heap_to : global_to;
        unsigned char *from = (kind / 2 + side) % 2 ? heap_from : global_from;
        for (size_t i = kind; i < sizeof sizes / sizeof sizes[0]; i += kind == 0 ? 1 : 3, round += 2) {
            size_t n = sizes[i];
            broadcast(to, from, n, round);
            exchange(to, from, (size_t[]){n, n}, round);
            exchange(to, from, (size_t[]){n, n / 9}, round);
            exchange(to, from, (size_t[]){0, n}, round);
            reduce((long *)to, (long *)from, n / 8, round);
        }
    }
    many();
    context(is_same_program);
    CHECK(shmemx_group_sync(SHMEMX_GROUP_INVALID) == -1);
    if (me == 0)
        usleep(3000);
    return finish();
}
