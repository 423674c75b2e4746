/* What PEs do when something happens to a host or a link. Arguments: what they do, and in how many
 * rounds, after which all must be right; with 0, until they are ended. */
#include "check.h"

#include <shmemx.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 8192 };

static long block[BLOCK];
static uint64_t count;
static long turn;
static long never;

static void put(long round)
{
    static long mine[BLOCK];
    for (long i = 0; i < BLOCK; i++)
        mine[i] = round * BLOCK + i;
    shmem_long_put(block, mine, BLOCK, right_of(shmem_my_pe()));
    shmem_quiet();
}

/* The same as `put`, by requests. */
static void request(long round)
{
    static long mine[BLOCK];
    shmemx_req_h requests[2];
    for (long i = 0; i < BLOCK; i++)
        mine[i] = round * BLOCK + i;
    shmemx_put_nb(block, mine, BLOCK - 1, right_of(shmem_my_pe()), &requests[0]);
    shmemx_put_nb(&block[BLOCK - 1], &mine[BLOCK - 1], 1, right_of(shmem_my_pe()), &requests[1]);
    shmemx_req_waitall(2, requests);
}

static void amo(long round)
{
    (void)round;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        shmem_uint64_atomic_fetch_add(&count, 1, pe);
}

static void barrier(long round)
{
    (void)round;
    shmem_barrier_all();
}

/* A word goes around; endless waits are for one that never comes. */
static void wait(long round)
{
    int me = shmem_my_pe();
    if (round < 0)
        shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    if (me != 0)
        shmem_long_wait_until(&turn, SHMEM_CMP_EQ, round + 1);
    shmem_long_p(&turn, round + 1, right_of(me));
    if (me == 0)
        shmem_long_wait_until(&turn, SHMEM_CMP_EQ, round + 1);
}

static void idle(long round)
{
    (void)round;
    nanosleep(&(struct timespec){0, 10000000}, NULL);
}

/* Short and long messages go around, from private memory and to it. */
static void message(long round)
{
    static const size_t lengths[] = {8, 4000, 100000};
    static long to_here[100000 / sizeof(long)];
    long *mine = malloc(100000);
    int me = shmem_my_pe(), tag = (int)(round & 1);
    shmemx_msg_request_t requests[3];
    for (int i = 0; i < 3; i++) {
        mine[0] = round;
        shmemx_msg_isend(SHMEM_TEAM_WORLD, mine, lengths[i], right_of(me), tag, &requests[i]);
    }
    for (int i = 0; i < 3; i++) {
        shmemx_msg_status_t s;
        shmemx_msg_recv(SHMEM_TEAM_WORLD, to_here, sizeof to_here, SHMEMX_ANY_SOURCE, tag, &s);
        CHECK(to_here[0] == round && s.nbytes == lengths[i]);
    }
    shmemx_msg_waitall(3, requests, NULL);
    free(mine);
}

/* The first PE misuses the library while the others wait for it. */
static void misuse(long round)
{
    sleep(1);
    if (shmem_my_pe() == 0)
        shmem_long_p(&never, 1, -1);
    wait(round);
}

static const struct {
    const char *name;
    void (*run)(long round);
} activities[] = {{"put", put}, {"request", request}, {"amo", amo}, {"barrier", barrier}, {"wait", wait},
                  {"idle", idle},
                  {"message", message}, {"misuse", misuse}};

static void verify(long rounds)
{
    if (block[BLOCK - 1] != 0)
        for (long i = 0; i < BLOCK; i++)
            CHECK(block[i] == (rounds - 1) * BLOCK + i, "block[%ld] = %ld", i, block[i]);
    uint64_t all = (uint64_t)rounds * (uint64_t)shmem_n_pes();
    CHECK(count == 0 || count == all, "count = %llu", (unsigned long long)count);
}

/* The number that the launcher gives this process. */
static int launched_as(void)
{
    const char *names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL)
            return (int)strtol(getenv(names[i]), NULL, 10);
    return -1;
}

/* The last of 4 fails before shmem_init, in which the others wait. */
static void fail_early(const char *way)
{
    if (launched_as() != 3)
        return;
    if (strcmp(way, "exits") == 0)
        exit(3);
    if (strcmp(way, "misuses") == 0)
        shmem_barrier_all();
    if (strcmp(way, "crashes") == 0)
        raise(SIGSEGV);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        fail_early(argv[1]);
    void (*run)(long) = NULL;
    for (size_t i = 0; i < sizeof activities / sizeof *activities; i++)
        if (argc > 2 && strcmp(argv[1], activities[i].name) == 0)
            run = activities[i].run;
    shmem_init();
    REQUIRE(run != NULL, "arguments: put|request|amo|barrier|wait|idle|message|misuse ROUNDS");
    long rounds = strtol(argv[2], NULL, 10);
    shmem_barrier_all();
    printf("PE %d is %d\n", shmem_my_pe(), (int)getpid());
    fflush(stdout);
    if (rounds == 0)
        for (;;)
            run(-1);
    for (long round = 0; round < rounds; round++)
        run(round);
    shmem_barrier_all();
    verify(rounds);
    return finish();
}
