/* Teams: strided and 2D splits, translation, nesting, predefined teams, invalid handles and
 * arguments, configuration, reuse after destruction. */
#include "neighbours.h"

#include <time.h>

static int me, n;
static long word;

/* The PE `i` of the triplet is world PE `start + stride * i` of the parent's world numbers. */
static void check_strided(shmem_team_t parent, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int parent_pe = shmem_team_my_pe(parent);
    int rc = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);
    CHECK(rc == 0, "(%d, %d, %d): %d", start, stride, size, rc);
    int index = -1;
    for (int i = 0; i < size; i++)
        if (start + stride * i == parent_pe)
            index = i;
    CHECK((team != SHMEM_TEAM_INVALID) == (index >= 0), "(%d, %d, %d)", start, stride, size);
    if (team == SHMEM_TEAM_INVALID)
        return;
    CHECK(shmem_team_my_pe(team) == index, "(%d, %d, %d)", start, stride, size);
    CHECK(shmem_team_n_pes(team) == size);
    for (int i = 0; i < size; i++) {
        int in_parent = start + stride * i;
        int world = shmem_team_translate_pe(parent, in_parent, SHMEM_TEAM_WORLD);
        CHECK(shmem_team_translate_pe(team, i, parent) == in_parent);
        CHECK(shmem_team_translate_pe(parent, in_parent, team) == i);
        CHECK(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == world);
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, world, team) == i);
        CHECK(shmem_team_translate_pe(team, i, team) == i);
        CHECK(shmem_team_ptr(team, &word, i) == shmem_ptr(&word, world));
    }
    for (int p = 0; p < shmem_team_n_pes(parent); p++) {
        int member = 0;
        for (int i = 0; i < size; i++)
            member |= start + stride * i == p;
        if (!member)
            CHECK(shmem_team_translate_pe(parent, p, team) == -1);
    }
    /* It synchronises its own members and them only. */
    static long arrived;
    arrived = 0;
    CHECK(shmem_team_sync(team) == 0);
    int root = shmem_team_translate_pe(team, size - 1, SHMEM_TEAM_WORLD);
    shmem_long_atomic_inc(&arrived, root);
    shmem_quiet();
    shmem_team_sync(team);
    CHECK(shmem_long_g(&arrived, root) == size, "%ld of %d", shmem_long_g(&arrived, root), size);
    shmem_team_sync(team);
    shmem_team_destroy(team);
}

static void strided(void)
{
    for (int start = 0; start < n; start++)
        for (int stride = -3; stride <= 3; stride++)
            for (int size = 1; size <= n; size += size < 3 ? 1 : 4) {
                int last = start + stride * (size - 1);
                if (last < 0 || last >= n || (stride == 0 && size > 1) || (start * 7 + stride) % 3)
                    continue;
                check_strided(SHMEM_TEAM_WORLD, start, stride, size);
            }
    check_strided(SHMEM_TEAM_WORLD, 0, 1, n);
    check_strided(SHMEM_TEAM_WORLD, n - 1, -1, n);
    check_strided(SHMEM_TEAM_SHARED, 0, 1, shmem_team_n_pes(SHMEM_TEAM_SHARED));
    shmem_barrier_all();
}

/* Splits of splits: each level keeps every other PE in reverse until one is left. */
static void nested(void)
{
    shmem_team_t teams[16] = {SHMEM_TEAM_WORLD};
    int depth = 0, size = n, world = me;
    while (size > 1) {
        int half = (size + 1) / 2, last = (half - 1) * 2;
        shmem_team_t next;
        CHECK(shmem_team_split_strided(teams[depth], last, -2, half, NULL, 0, &next) == 0);
        if (next == SHMEM_TEAM_INVALID)
            break;
        teams[++depth] = next;
        size = half;
        CHECK(shmem_team_n_pes(next) == size);
        CHECK(shmem_team_translate_pe(next, shmem_team_my_pe(next), SHMEM_TEAM_WORLD) == world);
        for (int level = 0; level < depth; level++)
            CHECK(shmem_team_translate_pe(teams[level], shmem_team_my_pe(teams[level]), next) ==
                  shmem_team_my_pe(next));
        check_strided(next, 0, 1, size);
    }
    /* Parents go before their children, and children stay good. */
    for (int level = 1; level <= depth; level++) {
        CHECK(shmem_team_sync(teams[level]) == 0);
        CHECK(shmem_team_translate_pe(teams[level], shmem_team_my_pe(teams[level]),
                                      SHMEM_TEAM_WORLD) == world);
        shmem_team_destroy(teams[level]);
    }
    shmem_barrier_all();
}

static void two_dimensional(void)
{
    for (int xrange = 1; xrange <= n + 2; xrange++) {
        shmem_team_t x_team, y_team;
        int width = xrange > n ? n : xrange;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x_team, NULL, 0, &y_team) == 0);
        REQUIRE(x_team != SHMEM_TEAM_INVALID && y_team != SHMEM_TEAM_INVALID, "xrange %d", xrange);
        int x = me % width, y = me / width;
        int row = (y + 1) * width <= n ? width : n - y * width;
        int column = (n - x + width - 1) / width;
        CHECK(shmem_team_my_pe(x_team) == x && shmem_team_my_pe(y_team) == y, "xrange %d", xrange);
        CHECK(shmem_team_n_pes(x_team) == row, "xrange %d: %d", xrange, shmem_team_n_pes(x_team));
        CHECK(shmem_team_n_pes(y_team) == column, "xrange %d: %d", xrange, shmem_team_n_pes(y_team));
        for (int i = 0; i < row; i++)
            CHECK(shmem_team_translate_pe(x_team, i, SHMEM_TEAM_WORLD) == y * width + i);
        for (int i = 0; i < column; i++)
            CHECK(shmem_team_translate_pe(y_team, i, SHMEM_TEAM_WORLD) == i * width + x);
        static int sum_source, row_sum, column_sum;
        sum_source = 1;
        shmem_team_sync(x_team);
        CHECK(shmem_int_sum_reduce(x_team, &row_sum, &sum_source, 1) == 0 && row_sum == row);
        shmem_team_sync(y_team);
        CHECK(shmem_int_sum_reduce(y_team, &column_sum, &sum_source, 1) == 0 && column_sum == column);
        shmem_team_destroy(y_team);
        shmem_team_destroy(x_team);
        shmem_barrier_all();
    }
}

static void predefined(void)
{
    CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me);
    CHECK(shmem_team_n_pes(SHMEM_TEAM_WORLD) == n);
    find_neighbours();
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) == number_near());
    for (int i = 0; i < shmem_team_n_pes(SHMEM_TEAM_SHARED); i++)
        CHECK(is_near(shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD)), "%d", i);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_SHARED, shmem_team_my_pe(SHMEM_TEAM_SHARED),
                                  SHMEM_TEAM_WORLD) == me);
    CHECK(SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID && SHMEM_TEAM_SHARED != SHMEM_TEAM_INVALID);
    CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
    CHECK(shmem_team_sync(SHMEM_TEAM_SHARED) == 0);
}

static void invalid(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD, other = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = {.num_contexts = 3};
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &word, 0) == NULL);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    CHECK(config.num_contexts == 3);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    team = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &team, NULL, 0, &other) != 0);
    CHECK(team == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
    /* Triplets that leave the parent: an error for all, and the parent stays usable. */
    static const int outside[][3] = {{0, 1, 0}, {0, 1, -1}, {-1, 1, 1}, {0, -1, 2}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        team = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, outside[i][0], outside[i][1], outside[i][2],
                                       NULL, 0, &team) != 0,
              "triplet %zu", i);
        CHECK(team == SHMEM_TEAM_INVALID);
    }
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n + 1, NULL, 0, &team) != 0);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n, 1, 1, NULL, 0, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    shmem_barrier_all();
}

static void configuration(void)
{
    shmem_team_config_t config = {.num_contexts = 4}, got = {.num_contexts = 99};
    shmem_team_t team;
    shmem_ctx_t ctx[4];
    CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL) == 0);
    CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, &got) == 0 && got.num_contexts == 99);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS,
                                   &team) == 0);
    REQUIRE(team != SHMEM_TEAM_INVALID);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0);
    CHECK(got.num_contexts == 4, "%d", got.num_contexts);
    for (int i = 0; i < 4; i++)
        CHECK(shmem_team_create_ctx(team, i % 2 ? SHMEM_CTX_PRIVATE : 0, &ctx[i]) == 0);
    for (int i = 0; i < 4; i++)
        shmem_ctx_destroy(ctx[i]);
    shmem_team_destroy(team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &team) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0);
    CHECK(got.num_contexts == 0, "the mask was 0: %d", got.num_contexts);
    shmem_team_destroy(team);
    shmem_barrier_all();
}

/* Disjoint teams of different sizes split further at the same time. */
static void splits_at_the_same_time(void)
{
    shmem_team_t half, part;
    int low = (n + 1) / 2, mine = me < low ? 0 : 1;
    shmem_team_t halves[2];
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, low, NULL, 0, &halves[0]);
    halves[1] = SHMEM_TEAM_INVALID;
    if (n > low)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, low, 1, n - low, NULL, 0, &halves[1]);
    half = halves[mine];
    REQUIRE(half != SHMEM_TEAM_INVALID && halves[!mine] == SHMEM_TEAM_INVALID);
    for (int round = 0; round < 30; round++) {
        int size = shmem_team_n_pes(half);
        int part_size = 1 + round % size;
        CHECK(shmem_team_split_strided(half, size - 1, -1, part_size, NULL, 0, &part) == 0);
        if (part != SHMEM_TEAM_INVALID) {
            CHECK(shmem_team_n_pes(part) == part_size);
            shmem_team_sync(part);
            shmem_team_destroy(part);
        }
    }
    shmem_team_destroy(half);
    shmem_barrier_all();
}

/* A new team is used at once, while others may still be in the split, and its id again as soon as it is
 * destroyed: by other PEs, with a PE that comes late now and then. */
static void used_at_once(void)
{
    static long value, sum, got;
    for (int round = 0; round < 300; round++) {
        int width = 1 + round % 5, late = round * 7 % n;
        shmem_team_t row, column, some;
        if (me == late && round % 10 == 0)
            nanosleep(&(struct timespec){0, 300000}, NULL);
        REQUIRE(shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &row, NULL, 0, &column) == 0);
        int size = shmem_team_n_pes(row), first = me - shmem_team_my_pe(row);
        value = 1000l * round + me;
        REQUIRE(shmem_long_broadcast(row, &got, &value, 1, round % size) == 0);
        CHECK(got == 1000l * round + first + round % size, "round %d: %ld", round, got);
        shmem_team_sync(column);
        shmem_team_destroy(row);
        int skip = 1 + round % 3, members = (n + skip - 1) / skip;
        REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, skip, members, NULL, 0, &some) == 0);
        CHECK((some != SHMEM_TEAM_INVALID) == (me % skip == 0));
        if (some != SHMEM_TEAM_INVALID) {
            value = 1;
            REQUIRE(shmem_long_sum_inscan(some, &sum, &value, 1) == 0);
            CHECK(sum == me / skip + 1, "round %d: %ld", round, sum);
            REQUIRE(shmem_long_sum_reduce(some, &sum, &value, 1) == 0);
            CHECK(sum == members, "round %d: %ld", round, sum);
            shmem_team_destroy(some);
        }
        if (me == (late + 1) % n && round % 10 == 5)
            nanosleep(&(struct timespec){0, 300000}, NULL);
        shmem_team_destroy(column);
    }
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    predefined();
    invalid();
    strided();
    nested();
    two_dimensional();
    configuration();
    splits_at_the_same_time();
    used_at_once();
    return finish();
}
