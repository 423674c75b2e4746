/* Every collective on groups of several shapes, of every size from nothing to 100,000 elements,
 * apart and in place; then random sequences. For every algorithm that can be chosen. */
#include "call.h"

#include <shmemx.h>

enum { LONGEST = 100000, CAPACITY = 3 << 19 };

static const size_t sizes[] = {0, 1, 2, 7, 8, 57, 255, 256, 257, 2048, 2500, 20000, LONGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static Group group;
static uint32_t state = 1;

static void run(size_t longest)
{
    unsigned salt = 0;
    for (int s = 0; s < SIZES && sizes[s] <= longest; s++)
        for (enum kind kind = 0; kind < KINDS; kind++, salt++)
            for (int in_place = 0; in_place <= may_be_in_place(kind); in_place++)
                call(&group, (Call){.kind = kind, .n = sizes[s], .root = s + (int)kind,
                                    .in_place = in_place, .salt = salt});
    for (int i = 0; i < 10; i++)
        random_calls(&group, &state, 3000);
}

static void on_team(const char *name, shmem_team_t team, size_t longest)
{
    state = 1;
    if (group_of_team(&group, name, team))
        run(longest);
    if (team != SHMEM_TEAM_INVALID && team != SHMEM_TEAM_WORLD)
        shmem_team_destroy(team);
}

static void on_strided(const char *name, int start, int stride, int size)
{
    shmem_team_t team;
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0);
    on_team(name, team, 2048);
}

/* PEs in an order without a rule, of which the last few are left out. */
static void on_list(const char *name, int out, size_t longest)
{
    int n = shmem_n_pes(), count = 0, list[MEMBERS];
    for (int k = 0; k < 3; k++)
        for (int pe = n - 1 - out; pe >= 0; pe--)
            if (pe * pe % 3 == k)
                list[count++] = pe;
    shmem_team_t team;
    REQUIRE(shmemx_team_split_list(SHMEM_TEAM_WORLD, list, count, NULL, 0, &team) == 0);
    on_team(name, team, longest);
}

static void on_set(const char *name, int start, int log_stride, int size, size_t longest)
{
    state = 1;
    /* Its work arrays are used by another set next. */
    shmem_barrier_all();
    group.next_psync = 0;
    if (group_of_set(&group, name, start, log_stride, size))
        run(longest);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    int n = shmem_n_pes();
    group_arrays(&group, CAPACITY);
    on_team("world", SHMEM_TEAM_WORLD, LONGEST);
    on_strided("reversed", n - 1, -1, n);
    on_strided("even", 0, 2, (n + 1) / 2);
    if (n > 2)
        on_strided("odd, reversed", n - 1 - n % 2, -2, n / 2);
    shmem_team_t row, column;
    REQUIRE(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column) == 0);
    on_team("row", row, 257);
    on_team("column", column, 2048);
    /* The longest arrays are those of the world: most of the time goes by to make and verify them. */
    on_list("list", 0, 20000);
    on_list("shorter list", 1, 2048);
    on_set("set of all", 0, 0, n, 2500);
    on_set("even set", 0, 1, (n + 1) / 2, 257);
    on_set("set without the first", 1, 0, n - 1, 257);
    group_free(&group);
    return finish();
}
