/* Data of collectives: long in those that move it, double or int in reductions. */
#include "collective_data.h"

#include <string.h>

int root;

/* Element i of the data from PE `from` to PE `to`. */
static long element(int from, int to, size_t i)
{
    return ((long)from * 4099 + to) * 65537 + (long)i + 1;
}

/* Element i of a PE's array that is summed: small enough for exact sums over any number of PEs. */
static long addend(int pe, size_t i)
{
    return (long)(pe % 4 + 1) * (long)(i % 13 + 1);
}

/* The sum of element 0 over the first PEs: that of element i is i % 13 + 1 times as much. */
static long sum_of_first(int pes)
{
    long sum = 0;
    for (int pe = 0; pe < pes; pe++)
        sum += addend(pe, 0);
    return sum;
}

static size_t nothing(size_t bytes, int pes)
{
    (void)bytes, (void)pes;
    return 0;
}

static size_t one_array(size_t bytes, int pes)
{
    (void)pes;
    return bytes;
}

static size_t array_per_pe(size_t bytes, int pes)
{
    return bytes * (size_t)pes;
}

static size_t strided_array_per_pe(size_t bytes, int pes)
{
    return ALLTOALLS_STRIDE * bytes * (size_t)pes;
}

static void fill_nothing(const struct transfer *t)
{
    (void)t;
}

static bool check_nothing(const struct transfer *t, long repetitions)
{
    (void)t, (void)repetitions;
    return true;
}

/* One source array; the result has `copies` arrays. */
static void fill_common(const struct transfer *t, int copies)
{
    long *source = (long *)t->source;
    for (size_t i = 0; i < t->bytes / sizeof *source; i++)
        source[i] = element(t->me, 0, i);
    memset(t->dest, 0, t->bytes * (size_t)copies);
}

static void fill_broadcast(const struct transfer *t)
{
    fill_common(t, 1);
}

static void fill_collect(const struct transfer *t)
{
    fill_common(t, t->pes);
}

static void fill_parts(const struct transfer *t, size_t stride)
{
    long *source = (long *)t->source;
    size_t count = t->bytes / sizeof *source;
    memset(t->dest, 0, t->bytes * stride * (size_t)t->pes);
    for (int pe = 0; pe < t->pes; pe++)
        for (size_t i = 0; i < count; i++)
            source[((size_t)pe * count + i) * stride] = element(t->me, pe, i);
}

static void fill_alltoall(const struct transfer *t)
{
    fill_parts(t, 1);
}

static void fill_alltoalls(const struct transfer *t)
{
    fill_parts(t, ALLTOALLS_STRIDE);
}

/* Whether part `part` of dest has the data from PE `from` to PE `to`. */
static bool part_is(const struct transfer *t, int part, size_t stride, int from, int to)
{
    const long *dest = (const long *)t->dest;
    size_t count = t->bytes / sizeof *dest;
    for (size_t i = 0; i < count; i++)
        if (dest[((size_t)part * count + i) * stride] != element(from, to, i))
            return false;
    return true;
}

/* OpenSHMEM up to 1.4 does not write the root's dest, and MPI has none. */
static bool check_broadcast(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return t->me == root || part_is(t, 0, 1, root, 0);
}

static bool check_parts(const struct transfer *t, size_t stride, int to)
{
    for (int pe = 0; pe < t->pes; pe++)
        if (!part_is(t, pe, stride, pe, to))
            return false;
    return true;
}

static bool check_collect(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return check_parts(t, 1, 0);
}

static bool check_alltoall(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return check_parts(t, 1, t->me);
}

static bool check_alltoalls(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return check_parts(t, ALLTOALLS_STRIDE, t->me);
}

static void fill_doubles(const struct transfer *t)
{
    double *source = (double *)t->source, *dest = (double *)t->dest;
    for (size_t i = 0; i < t->bytes / sizeof *source; i++) {
        source[i] = (double)addend(t->me, i);
        dest[i] = -1;
    }
}

static void fill_ints(const struct transfer *t)
{
    int *source = (int *)t->source, *dest = (int *)t->dest;
    for (size_t i = 0; i < t->bytes / sizeof *source; i++) {
        source[i] = (int)addend(t->me, i);
        dest[i] = -1;
    }
}

static bool doubles_are_sums(const struct transfer *t, int pes)
{
    const double *dest = (const double *)t->dest;
    const long unit = sum_of_first(pes);
    for (size_t i = 0; i < t->bytes / sizeof *dest; i++)
        if (dest[i] != (double)(unit * (long)(i % 13 + 1)))
            return false;
    return true;
}

static bool check_sum(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return doubles_are_sums(t, t->pes);
}

static bool check_int_sum(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    const int *dest = (const int *)t->dest;
    const long unit = sum_of_first(t->pes);
    for (size_t i = 0; i < t->bytes / sizeof *dest; i++)
        if (dest[i] != unit * (long)(i % 13 + 1))
            return false;
    return true;
}

static bool check_inscan(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return doubles_are_sums(t, t->me + 1);
}

/* The result on rank 0 is undefined in MPI and 0 in OpenSHMEM. */
static bool check_exscan(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return t->me == 0 || doubles_are_sums(t, t->me);
}

const struct data no_data = {nothing, nothing, fill_nothing, check_nothing};
const struct data broadcast_data = {one_array, one_array, fill_broadcast, check_broadcast};
const struct data collect_data = {one_array, array_per_pe, fill_collect, check_collect};
const struct data alltoall_data = {array_per_pe, array_per_pe, fill_alltoall, check_alltoall};
const struct data alltoalls_data = {strided_array_per_pe, strided_array_per_pe, fill_alltoalls,
                                    check_alltoalls};
const struct data sum_data = {one_array, one_array, fill_doubles, check_sum};
const struct data int_sum_data = {one_array, one_array, fill_ints, check_int_sum};
const struct data inscan_data = {one_array, one_array, fill_doubles, check_inscan};
const struct data exscan_data = {one_array, one_array, fill_doubles, check_exscan};
