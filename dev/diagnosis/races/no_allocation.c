/* An allocation without bytes, which synchronises nothing, is taken for a barrier.
 * check: race
 * expect: PE 0's shmem_int_put at @put (main) and PE 1's shmem_int_get at @get (main) race
 * expect: the variable "data" on PE 1 */
#include "../seeded.h"

static int data[4];

int main(int argc, char **argv)
{
    (void)argv;
    start(argc);
    int some[4] = {1, 2, 3, 4};
    if (me == 0) shmem_int_put(data, some, 4, 1); /* @put */
    void *block = shmem_malloc(fault ? 0 : 64);
    if (me == 1) shmem_int_get(some, data, 4, 1); /* @get */
    shmem_free(block);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
