/* One PE waits for input that no process writes.
 * run: -n 2
 * expect: PE 1 sleeps in the program, in read of pipe:[
 * expect: at @read (receive)
 * expect: PE 0 waits in shmem_long_sum_reduce on the world team since
 */
#include <shmem.h>
#include <unistd.h>
static long __attribute__((noinline)) receive(int file) {
    long value = 0;
    if (read(file, &value, sizeof value) < 0) /* @read */
        return -1;
    return value;
}
int main(void) {
    static long mine, sum;
    int ends[2];
    shmem_init();
    if (pipe(ends) != 0)
        return 1;
    mine = 1;
#ifdef FAULT
    int reads = shmem_my_pe() == 1;
#else
    int reads = 0;
#endif
    if (reads)
        mine = receive(ends[0]);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    shmem_finalize();
    return 0;
}
