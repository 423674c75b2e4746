/* A program that knows nothing of tools; its calls are counted by one (profiling_tool.c). */
#include "check.h"

static int words[4], sum, one;
static long value, counter;
static double real = 1.5;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), to = right_of(me);
    int *heap = checked_malloc(sizeof *heap);
    one = 1;
    shmem_barrier_all();
    for (int i = 0; i < 10; i++)
        shmem_int_put(words, (int[]){me, i, 2, 3}, 4, to);
    for (int i = 0; i < 20; i++)
        shmem_long_p(&value, i, to);
    double got = 0;
    for (int i = 0; i < 30; i++)
        shmem_double_get(&got, &real, 1, to);
    for (int i = 0; i < 40; i++)
        shmem_long_atomic_fetch_add(&counter, 1, 0);
    shmem_barrier_all();
    CHECK(words[0] == left_of(me) && value == 19 && got == 1.5);
    if (me == 0)
        CHECK(counter == 40l * shmem_n_pes(), "%ld", counter);
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
    CHECK(sum == shmem_n_pes());
    shmem_barrier_all();
    shmem_free(heap);
    return finish();
}
