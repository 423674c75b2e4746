/* A loop of the program's own looks for a value that comes to another variable.
 * run: -n 2
 * expect: PE 1 computes, or polls memory in the program, at
 * expect: reads_word.h:2 (look)
 * expect: PE 0 waits in shmem_barrier_all on the world team since
 */
#include <shmem.h>
#include "reads_word.h"
static long ready, other;
int main(void) {
    shmem_init();
#ifdef FAULT
    long *to = &other;
#else
    long *to = &ready;
#endif
    if (shmem_my_pe() == 0)
        shmem_long_p(to, 1, 1);
    else
        while (look(&ready) == 0) {
        }
    (void)other;
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
