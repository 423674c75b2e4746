/* Reductions over all PEs. */
#include "reduce.h"

#include <shmem.h>

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5

#include <stdio.h>
#include <stdlib.h>

#define REDUCTION(function, type, operation)                                          \
    void function(type *all, const type *mine, size_t n)                              \
    {                                                                                 \
        if (shmem_##operation##_reduce(SHMEM_TEAM_WORLD, all, mine, n) != 0) {        \
            fprintf(stderr, "shmem_" #operation "_reduce failed\n");                  \
            shmem_global_exit(EXIT_FAILURE);                                          \
        }                                                                             \
    }

#else

/* Reductions over active sets need work arrays: larger arrays are reduced in pieces. Two sets of
 * work arrays alternate, because a PE may enter the next reduction before the others have left
 * this one; it cannot enter the one after that, which waits for all. */
enum { PIECE = 4096, WORK = PIECE / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE };

static long sync[2][SHMEM_REDUCE_SYNC_SIZE];
static int turn = -1; /* before the first reduction */

static int next_turn(void)
{
    if (turn < 0) {
        for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
            sync[0][i] = sync[1][i] = SHMEM_SYNC_VALUE;
        shmem_barrier_all();
    }
    turn = turn == 0;
    return turn;
}

#define REDUCTION(function, type, operation)                                          \
    void function(type *all, const type *mine, size_t n)                              \
    {                                                                                 \
        static type work[2][WORK];                                                    \
        for (size_t at = 0; at < n; at += PIECE) {                                    \
            int piece = (int)(n - at < PIECE ? n - at : PIECE), set = next_turn();    \
            shmem_##operation##_to_all(all + at, mine + at, piece, 0, 0, shmem_n_pes(), \
                                       work[set], sync[set]);                         \
        }                                                                             \
    }

#endif

REDUCTION(sum_ints, int, int_sum)
REDUCTION(sum_longs, long, long_sum)
REDUCTION(sum_doubles, double, double_sum)
REDUCTION(max_doubles, double, double_max)

/* One value of each PE; two results alternate for the same reason. */
#define REDUCTION_OF_ONE(function, type, of_array)                                    \
    type function(type value)                                                         \
    {                                                                                 \
        static type mine[2], all[2];                                                  \
        static int calls;                                                             \
        int set = calls++ & 1;                                                        \
        mine[set] = value;                                                            \
        of_array(&all[set], &mine[set], 1);                                           \
        return all[set];                                                              \
    }

REDUCTION_OF_ONE(sum_long, long, sum_longs)
REDUCTION_OF_ONE(sum_double, double, sum_doubles)
REDUCTION_OF_ONE(max_double, double, max_doubles)
