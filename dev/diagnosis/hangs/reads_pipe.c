/* One PE waits for input that no process writes.
 * run: -n 2
 * expect: PE 1 sleeps in the program, in read of pipe:[
 * expect: at @read (receive)
 * expect: PE 0 waits in shmem_long_sum_reduce on the world team since
 */
#include "../seeded.h"
#include <unistd.h>
static long __attribute__((noinline)) receive(int file) {
    long value = 0;
    if (read(file, &value, sizeof value) < 0) /* @read */
        return -1;
    return value;
}
void run(void) {
    static long mine = 1, sum;
    int ends[2];
    if (pipe(ends) != 0)
        shmem_global_exit(1);
    if (fault && me == 1)
        mine = receive(ends[0]);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
}
