/* Ways for PE 1 to end while the others wait in a barrier. Argument: the way. */
#include "clock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long never;
static volatile int *volatile nowhere = (int *)8;

/* Ends the process a while after its first thread. */
static void *end_late(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 400000000}, NULL);
    now();
    kill(getpid(), SIGSEGV);
    return NULL;
}

/* Waits for a while, beside the thread that is in a barrier. */
static void *wait_beside(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    long words[64] = {0};
    long *volatile local_words = words;
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    int me = shmem_my_pe();
    /* Touched memory of some size: were it left behind, 200 jobs would show it. */
    char *heap = checked_malloc((size_t)4 << 20);
    memset(heap, me, (size_t)4 << 20);
    shmem_barrier_all();
    if (strcmp(way, "ends_slowly") == 0 && me == 1) {
        /* As of a process that the kernel takes apart: its first thread has ended. */
        pthread_t thread;
        pthread_create(&thread, NULL, end_late, NULL);
        shmem_long_p(&never, 1, 0);
        syscall(SYS_exit, 0);
    } else if (strcmp(way, "ends_slowly") == 0 && me == 0) {
        /* Reports that PE 1 has ended, as one does whose connection to it is closed. */
        shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
        nanosleep(&(struct timespec){0, 200000000}, NULL);
        exit(3);
    } else if (strcmp(way, "exit0_beside_threads") == 0) {
        pthread_t thread;
        if (me != 1) {
            pthread_create(&thread, NULL, wait_beside, NULL);
        } else {
            nanosleep(&(struct timespec){0, 300000000}, NULL);
            shmem_long_p(&never, 1, 0);
            shmem_long_p(&never, 1, 2);
            nanosleep(&(struct timespec){1, 0}, NULL);
            now();
            exit(0);
        }
    } else if (strcmp(way, "killed_in_barrier") == 0 && me == 1) {
        /* A child kills it once it waits with the others. */
        pid_t self = getpid();
        if (fork() == 0) {
            nanosleep(&(struct timespec){0, 100000000}, NULL);
            now();
            kill(self, SIGKILL);
            _exit(0);
        }
        /* PE 0 never comes: the barrier cannot end first. */
        shmem_barrier_all();
    } else if (strcmp(way, "killed_in_barrier") == 0 && me == 0) {
        shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    } else if (strcmp(way, "leaves_a_child") == 0 && me == 1) {
        /* A grandchild of the launcher that would outlive the job. */
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            for (;;)
                pause();
        }
        now();
        _exit(5);
    } else if (me == 1) {
        now();
        if (strcmp(way, "segfault") == 0)
            *nowhere = 1;
        else if (strcmp(way, "abort") == 0)
            abort();
        else if (strcmp(way, "exit3") == 0)
            exit(3);
        else if (strcmp(way, "exit0") == 0)
            exit(0);
        else if (strcmp(way, "global_exit7") == 0)
            shmem_global_exit(7);
        else if (strcmp(way, "global_exit0") == 0)
            shmem_global_exit(0);
        else if (strcmp(way, "killed") == 0)
            raise(SIGKILL);
        else if (strcmp(way, "raise_segv") == 0)
            raise(SIGSEGV);
        else if (strcmp(way, "kill_bus") == 0)
            kill(getpid(), SIGBUS);
        else if (strcmp(way, "stack_put") == 0)
            shmem_long_p(local_words + 3, 1, 2);
        else if (strcmp(way, "stack_putmem") == 0) {
            /* What a child does is not the PE's fault. */
            pid_t child = fork();
            if (child == 0)
                *nowhere = 1;
            waitpid(child, NULL, 0);
            shmem_putmem(local_words, local_words, sizeof words, 2);
        }
        else if (strcmp(way, "doing") == 0) {
            printf("running\n");
            fflush(stdout);
            for (volatile long i = 0;; i++)
                ;
        }
        else if (strcmp(way, "well") != 0 && strcmp(way, "busy") != 0 &&
                 strcmp(way, "raise_after_finalize") != 0)
            shmem_global_exit(99);
    }
    if (strcmp(way, "doing") == 0) {
        printf("running\n");
        fflush(stdout);
        if (me == 2)
            for (;;)
                pause();
    }
    if (strcmp(way, "busy") == 0) {
        printf("running\n");
        fflush(stdout);
        shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    }
    if (strcmp(way, "raise_after_finalize") == 0 && me == 1) {
        shmem_finalize();
        raise(SIGSEGV);
    }
    shmem_barrier_all();
    return finish();
}
