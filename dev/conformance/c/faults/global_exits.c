/* All PEs call shmem_global_exit(0) by themselves, on a slow link: those of the second half first, and
 * those of the first half when the others have ended, but before they read the notice of it. */
#include "clock.h"

enum { AGREE_MS = 5000, BETWEEN_MS = 500 };

int main(void)
{
    static long long begin, agreed;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    begin = now_ms() + AGREE_MS;
    shmem_longlong_max_reduce(SHMEM_TEAM_WORLD, &agreed, &begin, 1);
    long long at = agreed + (me < n / 2 ? BETWEEN_MS : 0);
    CHECK(now_ms() < at, "this PE is %lld ms late", now_ms() - at);
    while (now_ms() < at)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    printf("PE %d exits\n", me);
    shmem_global_exit(check_status());
}
