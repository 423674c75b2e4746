/* Collectives that move data: broadcast, collect, fcollect, alltoall, alltoalls, on the world and
 * on teams of several shapes, of every size, typed and in bytes, back to back. */
#include "check.h"

enum { MOST = 3000, TEAMS = 6, BACK_TO_BACK = 24 };

static int n_pes;
static int *source, *dest;
static shmem_team_t teams[TEAMS];

static int value(int pe, int i, int salt)
{
    return pe * 1000003 + i * 31 + salt * 7 + 1;
}

static void reset(int count)
{
    for (int i = 0; i < count; i++)
        dest[i] = -1;
}

static int world_of(shmem_team_t team, int pe)
{
    return shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
}

static const int sizes[] = {0, 1, 2, 3, 7, 8, 16, 33, 100, 1024, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void broadcast(shmem_team_t team)
{
    int size = shmem_team_n_pes(team), me = shmem_my_pe();
    for (int s = 0; s < SIZES; s++) {
        int root = s % size, n = sizes[s];
        for (int i = 0; i < MOST; i++)
            source[i] = value(me, i, s);
        reset(MOST + 1);
        shmem_team_sync(team);
        int rc = s % 2 ? shmem_int_broadcast(team, dest, source, (size_t)n, root)
                       : shmem_broadcastmem(team, dest, source, (size_t)n * sizeof(int), root);
        CHECK(rc == 0);
        for (int i = 0; i < n; i++)
            CHECK(dest[i] == value(world_of(team, root), i, s), "%d elements, element %d", n, i);
        CHECK(dest[n] == -1, "%d elements: one too many", n);
        shmem_team_sync(team);
    }
    /* In place at the root. */
    dest[0] = me;
    shmem_team_sync(team);
    CHECK(shmem_int_broadcast(team, dest, dest, 1, size - 1) == 0);
    CHECK(dest[0] == world_of(team, size - 1), "%d", dest[0]);
    shmem_team_sync(team);
}

/* How many elements PE `pe` of a team gives in round `s`: differs from PE to PE, some none. */
static int share(int pe, int s, int size)
{
    int most = MOST / size / 2;
    return (pe * 37 + s * 13) % 4 == 0 ? 0 : (pe * 101 + sizes[s]) % (most + 1);
}

static void collect(shmem_team_t team)
{
    int size = shmem_team_n_pes(team), me = shmem_my_pe(), my = shmem_team_my_pe(team);
    for (int s = 0; s < SIZES; s++) {
        for (int i = 0; i < MOST; i++)
            source[i] = value(me, i, s);
        reset(MOST);
        shmem_team_sync(team);
        size_t mine = (size_t)share(my, s, size);
        int rc = s % 2 ? shmem_int_collect(team, dest, source, mine)
                       : shmem_collectmem(team, dest, source, mine * sizeof(int));
        CHECK(rc == 0);
        int at = 0;
        for (int pe = 0; pe < size; pe++)
            for (int i = 0; i < share(pe, s, size); i++, at++)
                CHECK(dest[at] == value(world_of(team, pe), i, s), "round %d PE %d element %d", s,
                      pe, i);
        CHECK(dest[at] == -1, "round %d: one too many", s);
        shmem_team_sync(team);

        int each = sizes[s] / size;
        reset(MOST + 1);
        shmem_team_sync(team);
        rc = s % 2 ? shmem_int_fcollect(team, dest, source, (size_t)each)
                   : shmem_fcollectmem(team, dest, source, (size_t)each * sizeof(int));
        CHECK(rc == 0);
        for (int pe = 0; pe < size; pe++)
            for (int i = 0; i < each; i++)
                CHECK(dest[pe * each + i] == value(world_of(team, pe), i, s), "fcollect");
        CHECK(dest[size * each] == -1, "fcollect: one too many");
        shmem_team_sync(team);
    }
}

static void alltoall(shmem_team_t team)
{
    int size = shmem_team_n_pes(team), me = shmem_my_pe(), my = shmem_team_my_pe(team);
    for (int s = 0; s < SIZES; s++) {
        int each = sizes[s] / size;
        for (int i = 0; i < MOST; i++)
            source[i] = value(me, i, s);
        reset(MOST + 1);
        shmem_team_sync(team);
        int rc = s % 2 ? shmem_int_alltoall(team, dest, source, (size_t)each)
                       : shmem_alltoallmem(team, dest, source, (size_t)each * sizeof(int));
        CHECK(rc == 0);
        for (int pe = 0; pe < size; pe++)
            for (int i = 0; i < each; i++)
                CHECK(dest[pe * each + i] == value(world_of(team, pe), my * each + i, s),
                      "%d elements from PE %d, element %d", each, pe, i);
        CHECK(dest[size * each] == -1, "alltoall: one too many");
        shmem_team_sync(team);

        int dst = 1 + s % 3, sst = 1 + (s + 1) % 3;
        each = sizes[s] / size / 3;
        reset(MOST + 1);
        shmem_team_sync(team);
        rc = s % 2 ? shmem_int_alltoalls(team, dest, source, dst, sst, (size_t)each)
                   : shmem_alltoallsmem(team, dest, source, dst * (ptrdiff_t)sizeof(int),
                                        sst * (ptrdiff_t)sizeof(int), (size_t)each);
        CHECK(rc == 0);
        if (s % 2) {
            for (int k = 0; k < size * each * dst; k++) {
                int element = k / dst, pe = element / (each ? each : 1);
                int want = k % dst ? -1
                                   : value(world_of(team, pe), (my * each + element % each) * sst, s);
                CHECK(dest[k] == want, "alltoalls: dst %d sst %d element %d", dst, sst, k);
            }
        } else {
            /* Elements are bytes here: strides are in bytes, one byte of each moves. */
            unsigned char *bytes = (unsigned char *)dest;
            for (int k = 0; k < size * each; k++) {
                int v = value(world_of(team, k / each), (my * each + k % each) * sst, s);
                CHECK(bytes[(size_t)(k * dst) * sizeof(int)] == *(unsigned char *)&v,
                      "alltoallsmem: dst %d sst %d byte %d", dst, sst, k);
            }
        }
        shmem_team_sync(team);
    }
}

/* One after the other without any synchronisation of the caller's: as the standard asks, the
 * targets of collectives that may overlap in time are distinct. */
static void back_to_back(shmem_team_t team)
{
    static long from[BACK_TO_BACK][4], to[BACK_TO_BACK][4 * 64];
    int size = shmem_team_n_pes(team), my = shmem_team_my_pe(team);
    REQUIRE(size <= 64);
    for (int lap = 0; lap < 10; lap++) {
        for (int r = 0; r < BACK_TO_BACK; r++)
            for (int i = 0; i < 4; i++)
                from[r][i] = lap * 100000 + r * 1000 + my * 10 + i;
        shmem_team_sync(team);
        for (int r = 0; r < BACK_TO_BACK; r++) {
            switch (r % 4) {
            case 0: shmem_long_broadcast(team, to[r], from[r], 4, r % size); break;
            case 1: shmem_long_fcollect(team, to[r], from[r], 4); break;
            case 2: shmem_long_collect(team, to[r], from[r], (size_t)(my % 4)); break;
            default: shmem_long_max_reduce(team, to[r], from[r], 4); break;
            }
        }
        for (int r = 0; r < BACK_TO_BACK; r++) {
            long base = lap * 100000 + r * 1000;
            int at = 0;
            switch (r % 4) {
            case 0: CHECK(to[r][3] == base + r % size * 10 + 3, "round %d", r); break;
            case 1:
                for (int pe = 0; pe < size; pe++)
                    CHECK(to[r][pe * 4 + 2] == base + pe * 10 + 2, "round %d PE %d", r, pe);
                break;
            case 2:
                for (int pe = 0; pe < size; pe++)
                    for (int i = 0; i < pe % 4; i++)
                        CHECK(to[r][at++] == base + pe * 10 + i, "round %d PE %d", r, pe);
                break;
            default: CHECK(to[r][1] == base + (size - 1) * 10 + 1, "round %d", r);
            }
        }
        shmem_team_sync(team);
    }
}

/* The routines return an error for no team; checks would end the job. */
static void no_team(void)
{
    int word[2] = {1, 2};
    if (getenv("SHMEM_CHECK") != NULL)
        return;
    CHECK(shmem_int_broadcast(SHMEM_TEAM_INVALID, &word[0], &word[1], 1, 0) == -1);
    CHECK(shmem_int_collect(SHMEM_TEAM_INVALID, &word[0], &word[1], 1) == -1);
    CHECK(shmem_int_fcollect(SHMEM_TEAM_INVALID, &word[0], &word[1], 1) == -1);
    CHECK(shmem_int_alltoall(SHMEM_TEAM_INVALID, &word[0], &word[1], 1) == -1);
    CHECK(shmem_int_alltoalls(SHMEM_TEAM_INVALID, &word[0], &word[1], 1, 1, 1) == -1);
    CHECK(shmem_int_sum_reduce(SHMEM_TEAM_INVALID, &word[0], &word[1], 1) == -1);
    CHECK(shmem_int_sum_inscan(SHMEM_TEAM_INVALID, &word[0], &word[1], 1) == -1);
    CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) == -1);
    CHECK(word[0] == 1 && word[1] == 2);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    n_pes = shmem_n_pes();
    source = checked_malloc((MOST + 1) * sizeof(int) * 3);
    dest = checked_malloc((MOST + 1) * sizeof(int) * 3);
    for (int i = 0; i < 3 * (MOST + 1); i++)
        source[i] = dest[i] = 0;
    no_team();
    int low = (n_pes + 1) / 2;
    /* Three pairs of teams, each pair covering the world: work goes on in both at a time. */
    teams[0] = SHMEM_TEAM_WORLD;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes - 1, -1, n_pes, NULL, 0, &teams[1]);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, low, NULL, 0, &teams[2]);
    teams[3] = teams[5] = SHMEM_TEAM_INVALID;
    if (low < n_pes)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, low, 1, n_pes - low, NULL, 0, &teams[3]);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, low, NULL, 0, &teams[4]);
    if (n_pes > 1)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n_pes / 2, NULL, 0, &teams[5]);
    for (int t = 0; t < TEAMS; t++) {
        if (teams[t] == SHMEM_TEAM_INVALID)
            continue;
        broadcast(teams[t]);
        collect(teams[t]);
        alltoall(teams[t]);
        back_to_back(teams[t]);
    }
    for (int t = 1; t < TEAMS; t++)
        if (teams[t] != SHMEM_TEAM_INVALID)
            shmem_team_destroy(teams[t]);
    shmem_barrier_all();
    /* The handles are gone, the world works. */
    dest[0] = -1;
    source[0] = me;
    shmem_barrier_all();
    shmem_int_broadcast(SHMEM_TEAM_WORLD, dest, source, 1, n_pes - 1);
    CHECK(dest[0] == n_pes - 1);
    return finish();
}
