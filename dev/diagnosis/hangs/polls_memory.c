/* A loop of the program's own looks for a value that comes to another variable.
 * run: -n 2
 * expect: PE 1 computes, or polls memory in the program, at
 * expect: reads_word.h:2 (look)
 * expect: PE 0 waits in shmem_barrier_all on the world team since
 */
#include "../seeded.h"
#include "reads_word.h"
static long ready, other;
void run(void) {
    if (me == 0)
        shmem_long_p(fault ? &other : &ready, 1, 1);
    else
        while (look(&ready) == 0) {
        }
    shmem_barrier_all();
}
