/* No hang: one PE computes for longer than the others wait without a word. The job goes on after the hint.
 * run: -n 2 --hang-hint 0.5 --hang-timeout 30
 * status: 0
 * expect: no PE has made progress for
 * expect: the job goes on
 * expect: PE 0 waits in shmem_barrier_all on the world team since
 * expect: PE 1 has not come
 * expect: PE 1 computes, or polls memory in the program, at @loop (work)
 */
#include "../seeded.h"
#include <time.h>
static volatile double x = 1;
static void __attribute__((noinline)) work(int seconds) {
    time_t end = time(NULL) + seconds;
    while (time(NULL) < end)
        for (int i = 0; i < 100000000; i++) x = x * 0.5 + 1; /* @loop */
}
void run(void) {
    if (fault)
        work(me == 1 ? 3 : 0);
    shmem_barrier_all();
}
