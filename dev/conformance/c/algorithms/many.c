/* More active sets than the library keeps slots for, and teams by the thousand: each is used. */
#include "call.h"

enum { SETS = 1100, MADE = 1500, CAPACITY = 16 << 10, LONGEST = 400 };

static long psyncs[SETS][SHMEM_SYNC_SIZE];
static Group group;

/* A set with another work array is another set. */
static void sets(void)
{
    int n = shmem_n_pes();
    long (*own)[SHMEM_SYNC_SIZE] = group.psyncs;
    REQUIRE(group_of_set(&group, "set of all", 0, 0, n));
    uint32_t state = 1;
    for (int lap = 0; lap < 2; lap++)
        for (int i = 0; i + PSYNCS < SETS; i += 1 + PSYNCS / 2) {
            group.psyncs = &psyncs[i];
            group.next_psync = 0;
            random_calls(&group, &state, LONGEST);
        }
    group.psyncs = own;
    /* Each work array that is left has its turn, too: by now no slots are. */
    for (int i = 0; i < SETS; i++) {
        static int source, dest[64];
        source = shmem_my_pe() + i;
        shmem_sync_all();
        shmem_fcollect32(dest, &source, 1, 0, 0, n, psyncs[i]);
        for (int pe = 0; pe < n; pe++)
            CHECK(dest[pe] == pe + i, "set %d PE %d: %d", i, pe, dest[pe]);
    }
    for (uint32_t lap = 0, last = 2; lap < 20; lap++) {
        group.psyncs = &psyncs[SETS - 1 - PSYNCS];
        group.next_psync = 0;
        random_calls(&group, &last, LONGEST);
    }
    group.psyncs = own;
    shmem_barrier_all();
    for (int i = 0; i < SETS; i++)
        for (int k = 0; k < SHMEM_SYNC_SIZE; k++)
            CHECK(psyncs[i][k] == SHMEM_SYNC_VALUE, "pSync %d word %d", i, k);
    shmem_barrier_all();
}

/* Made, used, destroyed; the next one gets the same slots, or not. */
static void teams(void)
{
    int n = shmem_n_pes();
    uint32_t shape = 3;
    for (int i = 0; i < MADE / n; i++) {
        int size = 1 + (int)(next_random(&shape) % (unsigned)n);
        int start = (int)(next_random(&shape) % (unsigned)(n - size + 1));
        int reversed = next_random(&shape) % 2;
        shmem_team_t team;
        REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, reversed ? start + size - 1 : start,
                                         reversed ? -1 : 1, size, NULL, 0, &team) == 0);
        uint32_t state = (uint32_t)i;
        if (group_of_team(&group, "short-lived", team)) {
            random_calls(&group, &state, LONGEST);
            if (i % 3 != 0)
                shmem_team_destroy(team);
        }
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    for (int i = 0; i < SETS; i++)
        for (int k = 0; k < SHMEM_SYNC_SIZE; k++)
            psyncs[i][k] = SHMEM_SYNC_VALUE;
    group_arrays(&group, CAPACITY);
    teams();
    sets();
    return finish();
}
