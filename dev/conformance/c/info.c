/* Library constants, handles and the information routines. */
#include "check.h"

/* Handles and constants can stand in initialisers. */
static shmem_ctx_t context = SHMEM_CTX_DEFAULT;
static shmem_ctx_t no_context = SHMEM_CTX_INVALID;
static shmem_team_t world = SHMEM_TEAM_WORLD;
static shmem_team_t shared = SHMEM_TEAM_SHARED;
static shmem_team_t no_team = SHMEM_TEAM_INVALID;
static const char vendor[] = SHMEM_VENDOR_STRING;

#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION != 6
#error "the header is for another version of the standard"
#endif

_Static_assert(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED &&
                   SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
                   SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE,
               "thread levels are ordered");
_Static_assert(sizeof vendor <= SHMEM_MAX_NAME_LEN, "the name fits");
_Static_assert(SHMEM_SYNC_SIZE >= SHMEM_BCAST_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_REDUCE_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_BARRIER_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_COLLECT_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_ALLTOALL_SYNC_SIZE &&
                   SHMEM_SYNC_SIZE >= SHMEM_ALLTOALLS_SYNC_SIZE,
               "one size fits all collectives");
_Static_assert(_SHMEM_MAJOR_VERSION == SHMEM_MAJOR_VERSION && _SHMEM_MINOR_VERSION == SHMEM_MINOR_VERSION &&
                   _SHMEM_MAX_NAME_LEN == SHMEM_MAX_NAME_LEN && _SHMEM_SYNC_VALUE == SHMEM_SYNC_VALUE &&
                   _SHMEM_BCAST_SYNC_SIZE == SHMEM_BCAST_SYNC_SIZE &&
                   _SHMEM_REDUCE_SYNC_SIZE == SHMEM_REDUCE_SYNC_SIZE &&
                   _SHMEM_BARRIER_SYNC_SIZE == SHMEM_BARRIER_SYNC_SIZE &&
                   _SHMEM_COLLECT_SYNC_SIZE == SHMEM_COLLECT_SYNC_SIZE &&
                   _SHMEM_REDUCE_MIN_WRKDATA_SIZE == SHMEM_REDUCE_MIN_WRKDATA_SIZE &&
                   _SHMEM_CMP_EQ == SHMEM_CMP_EQ && _SHMEM_CMP_NE == SHMEM_CMP_NE &&
                   _SHMEM_CMP_LT == SHMEM_CMP_LT && _SHMEM_CMP_LE == SHMEM_CMP_LE &&
                   _SHMEM_CMP_GT == SHMEM_CMP_GT && _SHMEM_CMP_GE == SHMEM_CMP_GE,
               "old names stand for the same values");

static int is_distinct(long a)
{
    /* Constants must do as case labels: those of one group are distinct. */
    switch (a) {
    case SHMEM_CMP_EQ:
    case SHMEM_CMP_NE:
    case SHMEM_CMP_LT:
    case SHMEM_CMP_LE:
    case SHMEM_CMP_GT:
    case SHMEM_CMP_GE: return 1;
    }
    return 0;
}

int main(void)
{
    int major = 0, minor = 0, level = -1;
    char name[SHMEM_MAX_NAME_LEN];
    memset(name, 'x', sizeof name);
    shmem_init();
    shmem_info_get_version(&major, &minor);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION, "%d.%d", major, minor);
    shmem_info_get_name(name);
    CHECK(memchr(name, 0, sizeof name) != NULL);
    CHECK(strcmp(name, vendor) == 0, "\"%.80s\"", name);
    CHECK(strcmp(name, _SHMEM_VENDOR_STRING) == 0);
    shmem_query_thread(&level);
    CHECK(level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE);
    CHECK(context == SHMEM_CTX_DEFAULT && no_context == SHMEM_CTX_INVALID && context != no_context);
    CHECK(world == SHMEM_TEAM_WORLD && shared == SHMEM_TEAM_SHARED && no_team == SHMEM_TEAM_INVALID);
    CHECK(world != no_team && shared != no_team);
    CHECK(SHMEM_SIGNAL_SET != SHMEM_SIGNAL_ADD);
    CHECK((SHMEM_CTX_SERIALIZED & SHMEM_CTX_PRIVATE) == 0);
    CHECK((SHMEM_CTX_SERIALIZED & SHMEM_CTX_NOSTORE) == 0);
    CHECK((SHMEM_CTX_PRIVATE & SHMEM_CTX_NOSTORE) == 0);
    CHECK((SHMEM_MALLOC_ATOMICS_REMOTE & SHMEM_MALLOC_SIGNAL_REMOTE) == 0);
    CHECK(SHMEM_TEAM_NUM_CONTEXTS != 0 && SHMEM_CTX_SESSION_TOTAL_OPS != 0 &&
          SHMEM_CTX_SESSION_BATCH != 0);
    CHECK(is_distinct(SHMEM_CMP_LE) && !is_distinct(-12345));
    CHECK(shmem_my_pe() >= 0 && shmem_my_pe() < shmem_n_pes());
    shmem_pcontrol(0);
    shmem_pcontrol(1);
    shmem_pcontrol(3, "more", 1.0, 2);
    return finish();
}
