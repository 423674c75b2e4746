/* A program of OpenSHMEM and MPI: both are initialised, translate PEs and ranks, communicate, alone and by threads side
 * by side, and end. The first argument names the one that is initialised first, the second the one that is finalised
 * first, or says how a PE fails. */
#include <mpi.h>
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200 };

static int box[2], me, n, right, left;
static uint64_t signal_word;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "PE %d: line %d: not %s\n", me, __LINE__, #condition);                                     \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static void init_mpi(void)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
}

static void init_shmem(void)
{
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
}

/* Each in both directions, so that all wait for both neighbours. */
static void *messages(void *communicator)
{
    for (int round = 0; round < ROUNDS; round++) {
        int sent = me + round, got = -1;
        MPI_Sendrecv(&sent, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, *(MPI_Comm *)communicator,
                     MPI_STATUS_IGNORE);
        CHECK(got == left + round);
    }
    return NULL;
}

static void *puts_with_signals(void *unused)
{
    for (int round = 1; round <= ROUNDS; round++) {
        int sent = me + round;
        shmem_int_put_signal(&box[round % 2], &sent, 1, &signal_word, 1, SHMEM_SIGNAL_ADD, right);
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, round);
        CHECK(box[round % 2] == left + round);
        shmem_sync_all();
    }
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const int mpi_begins = strcmp(argv[1], "mpi") == 0, mpi_ends = strcmp(argv[2], "mpi") == 0;
    const char *failure = mpi_ends || strcmp(argv[2], "shmem") == 0 ? NULL : argv[2];
    const int by_shmem = getenv("SHMEM_MPI_INIT") != NULL;
    if (mpi_begins)
        init_mpi();
    init_shmem();
    if (!mpi_begins && !by_shmem)
        init_mpi();
    me = shmem_my_pe();
    n = shmem_n_pes();
    right = (me + 1) % n;
    left = (me + n - 1) % n;

    /* The table from PEs to ranks, and a communicator in which the rank is the PE. */
    static int rank;
    int size, number;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == n);
    int *ranks = shmem_calloc(n, sizeof(int));
    CHECK(shmem_int_collect(SHMEM_TEAM_WORLD, ranks, &rank, 1) == 0);
    CHECK(ranks[me] == rank);
    MPI_Comm pes;
    MPI_Comm_split(MPI_COMM_WORLD, 0, me, &pes);
    MPI_Comm_rank(pes, &number);
    CHECK(number == me);

    if (failure && me == n - 1) {
        if (strcmp(failure, "MPI_Abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (strcmp(failure, "shmem_global_exit") == 0)
            shmem_global_exit(3);
        if (strcmp(failure, "exit") == 0)
            exit(3);
        raise(SIGKILL);
    }

    /* By turns, then by two threads. */
    messages(&pes);
    puts_with_signals(NULL);
    signal_word = 0;
    shmem_sync_all();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, puts_with_signals, NULL) == 0);
    messages(&pes);
    pthread_join(thread, NULL);

    /* Symmetric memory is memory of MPI's operations, too. */
    static int sum, sum_of_mpi;
    CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &sum, &rank, 1) == 0);
    MPI_Allreduce(&rank, &sum_of_mpi, 1, MPI_INT, MPI_SUM, pes);
    CHECK(sum == n * (n - 1) / 2 && sum_of_mpi == sum);
    MPI_Allgather(&me, 1, MPI_INT, ranks, 1, MPI_INT, pes);
    CHECK(ranks[left] == left);

    shmem_free(ranks);
    MPI_Comm_free(&pes);
    printf("PE %d of %d is rank %d\n", me, n, rank);
    fflush(stdout);
    if (!mpi_ends)
        shmem_finalize();
    if (by_shmem) {
        int is_finalized = 0;
        CHECK(MPI_Finalized(&is_finalized) == 0 && is_finalized);
        return 0;
    }
    MPI_Finalize();
    if (mpi_ends)
        shmem_finalize();
}
