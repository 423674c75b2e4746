/* fork() in a PE: the child sees the globals as they were, what it writes is its own, and the PE
 * goes on. (The child is not a PE: it must not call the library.) */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static int word = 5;
static char large[1 << 20] = {1};

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), to = right_of(me), from = left_of(me);
    shmem_int_p(&word, 100 + me, to);
    shmem_barrier_all();
    large[4096] = 7;
    for (int round = 0; round < 3; round++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            int good = word == 100 + from && large[4096] == 7 && large[0] == 1;
            word = -1;
            large[4096] = 9;
            for (int i = 0; i < 1 << 20; i += 4096)
                large[i] = (char)i;
            _exit(good ? 42 : 43);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42, "the child's status is %#x", status);
        CHECK(word == 100 + from, "the child changed a global of its parent: %d", word);
        CHECK(large[4096] == 7 && large[8192] == 0);
    }
    /* What the library does as a PE exits, it leaves as a child does. */
    long *heap = checked_malloc(sizeof *heap);
    *heap = 7;
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        exit(0);
    REQUIRE(waitpid(child, NULL, 0) == child);
    CHECK(*heap == 7, "the child has emptied the heap");
    shmem_barrier_all();
    CHECK(shmem_int_g(&word, to) == 100 + me);
    /* A program that the PE starts is not the PE either. */
    fflush(stdout);
    CHECK(system("test -z \"$FERROSHMEM_JOB\"") == 0);
    shmem_barrier_all();
    shmem_int_p(&word, 200 + me, to);
    shmem_barrier_all();
    CHECK(word == 200 + from, "%d", word);
    return finish();
}
