/* A program with a huge, hardly touched .bss starts at once and uses the memory it touches. */
#include "check.h"

#define HUGE_SIZE (((size_t)2 << 30) - ((size_t)160 << 20))
static char huge[HUGE_SIZE];

static long resident_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

int main(void)
{
    huge[HUGE_SIZE / 3] = 42;
    shmem_init();
    int me = shmem_my_pe(), to = right_of(me), from = left_of(me);
    CHECK(huge[HUGE_SIZE / 3] == 42 && huge[0] == 0 && huge[HUGE_SIZE - 1] == 0);
    shmem_barrier_all();
    shmem_char_p(&huge[HUGE_SIZE - 1], (char)(me + 1), to);
    shmem_char_p(&huge[0], (char)(me + 2), to);
    shmem_barrier_all();
    CHECK(huge[HUGE_SIZE - 1] == (char)(from + 1));
    CHECK(huge[0] == (char)(from + 2));
    CHECK(huge[HUGE_SIZE / 3] == 42);
    long kib = resident_kib();
    /* Across nodes, the network's library has buffers of its own. */
    int near = shmem_team_n_pes(SHMEM_TEAM_SHARED) == shmem_n_pes();
    long limit = (near ? 64 : 256) << 10;
    CHECK(kib > 0 && kib < limit, "%ld KiB are resident", kib);
    return finish();
}
