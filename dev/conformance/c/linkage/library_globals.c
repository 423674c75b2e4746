/* A program whose own shared library is linked in: what the library's code stores to the
 * program's globals by pointer arrives; its own data are not symmetric (standard, memory model). */
#include "check.h"

void library_put(int *target, int value, int pe);
void *library_ptr(int *target, int pe);

static int word;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), to = right_of(me);
    library_put(&word, me + 1, to);
    shmem_barrier_all();
    CHECK(word == left_of(me) + 1, "%d", word);
    CHECK(library_ptr(&word, to) == shmem_ptr(&word, to));
    shmem_barrier_all();
    return finish();
}
