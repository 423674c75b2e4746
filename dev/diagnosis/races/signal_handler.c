/* A PE reads what another stores; signals come while the checks look at stores, and their handler stores, too.
 * check: race
 * instrumented: -fsanitize=thread
 * expect: PE 0's store at @store (run) and PE 1's shmem_int_g at @get (run) race
 * expect: the first writes, and the second reads the variable "word" on PE 0 */
#include "../seeded.h"

#include <signal.h>
#include <sys/time.h>

static volatile int ticks;
static volatile int word;
static volatile long data[64];

static void on_signal(int number)
{
    (void)number;
    ticks = ticks + 1;
}

void run(void)
{
    if (me == 0) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        sigaction(SIGALRM, &action, NULL);
        struct itimerval every = {{0, 1000}, {0, 1000}};
        setitimer(ITIMER_REAL, &every, NULL);
        while (ticks < 100)
            for (int i = 0; i < 64; i++) data[i] += i;
        memset(&every, 0, sizeof every);
        setitimer(ITIMER_REAL, &every, NULL);
        word = 1; /* @store */
    }
    if (!fault) shmem_barrier_all();
    if (me == 1) shmem_int_g((const int *)&word, 0); /* @get */
    shmem_barrier_all();
}
