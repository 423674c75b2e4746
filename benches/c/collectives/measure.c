/* Times collective operations of one implementation, called back to back.
 *
 * usage: PROGRAM BYTES GATE, with BYTES of source and of dest on each PE; orders are as in
 * gate.h. The answer to each is a line: nanoseconds per call, from the first call of PE 0 until
 * all PEs have completed their last call. An operation "late/NAME" is NAME of one element with PE 0
 * arriving BYTES of the order, as microseconds, after the others: nanoseconds per call from its arrival
 * until all PEs have completed the call. An operation "uneven/DISTRIBUTION/NAME" is NAME of one element,
 * before each of which 2 PEs work as uneven.h says, BYTES microseconds on average: nanoseconds from the later PE's
 * arrival until both go on, on average over the calls, of which the longest tenth is left out. */
#include IMPLEMENTATION
#include "gate.h"
#include "uneven.h"
#include <time.h>

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Element `i` of PE 0's source; those of other PEs are multiples. Sums of them are exact. */
static double element(size_t i) { return (double)(i % 61 + 1); }

/* What element `i` of an operation on `n` elements is. */
static double expected(enum result result, size_t n, size_t i)
{
    switch (result) {
    case SUM_AT_ROOT:
    case SUM: return element(i) * pes * (pes + 1) / 2;
    case PREFIX_SUM: return element(i) * (me + 1) * (me + 2) / 2;
    case COPY_OF_ROOT: return element(i);
    case SCATTERED: return element((size_t)me * n + i);
    case SUM_OF_BLOCK: return element((size_t)me * n + i) * pes * (pes + 1) / 2;
    case GATHERED:
    case ALL_SOURCES: return element(i % n) * (double)(i / n + 1);
    case ALL_BLOCKS: return element((size_t)me * n + i % n) * (double)(i / n + 1);
    case COPY_OF_PEER: return element(i) * (2 - me);
    /* The PE before has sent it to the one after it. */
    case NEIGHBORS: return element((i / n ^ 1) * n + i % n) * (around[i / n] + 1);
    default: return 0;
    }
}

/* Elements of dest after an operation on `n` elements. */
static size_t elements(enum result result, size_t n)
{
    switch (result) {
    case NOTHING: return 0;
    case COPY_OF_ROOT: return me == 0 ? 0 : n;
    case SUM_AT_ROOT: return me == 0 ? n : 0;
    case GATHERED: return me == 0 ? n * (size_t)pes : 0;
    case ALL_SOURCES:
    case ALL_BLOCKS: return n * (size_t)pes;
    case NEIGHBORS: return n * (size_t)sides;
    default: return n;
    }
}

/* The halves that ISx exchanges come in the order in which room was reserved for them. */
static void check_halves(size_t n)
{
    const size_t half = n / 2;
    const size_t own = dest[0] == element(0) * (me + 1) ? 0 : half, other = half - own;
    for (size_t i = 0; i < half; i++)
        if (dest[own + i] != element(i) * (me + 1) || dest[other + i] != element(half + i) * (2 - me)) {
            fprintf(stderr, "isx of %zu elements: PE %d has wrong keys at %zu\n", n, me, i);
            exit(1);
        }
}

static void check(const struct operation *operation, size_t n)
{
    if (operation->result == TWO_HALVES) {
        check_halves(n);
        return;
    }
    const size_t all = elements(operation->result, n);
    for (size_t i = 0; i < all; i++)
        if (dest[i] != expected(operation->result, n, i)) {
            fprintf(stderr, "%s of %zu elements: PE %d has %g at %zu, not %g\n", operation->name, n,
                    me, dest[i], i, expected(operation->result, n, i));
            exit(1);
        }
}

static const struct operation *find(const char *name)
{
    for (const struct operation *each = operations; each->name; each++)
        if (strcmp(each->name, name) == 0)
            return each;
    fprintf(stderr, "no operation \"%s\" in this program\n", name);
    exit(1);
}

/* Nanoseconds per call. */
static double measure(const struct operation *operation, const struct order *order)
{
    const size_t n = (size_t)order->bytes / sizeof *dest;
    if (operation->in_place)
        memcpy(dest, source, n * sizeof *dest);
    else if (order->check)
        memset(dest, 0, elements(operation->result, n) * sizeof *dest);
    barrier(0);
    operation->call(n);
    if (order->check) {
        barrier(0);
        check(operation, n);
        barrier(0);
    }
    for (long i = 1; i < order->warm_up; i++)
        operation->call(n);
    barrier(0);
    const double start = now_ns();
    for (long i = 0; i < order->calls; i++)
        operation->call(n);
    gate_done(me, pes);
    const double time = (now_ns() - start) / (double)order->calls;
    if (order->check && !operation->in_place)
        check(operation, n);
    return time;
}

/* Nanoseconds per call from the arrival of PE 0, `microseconds` after the others. */
static double measure_late(const struct operation *operation, const struct order *order)
{
    /* Calls that take 30 ms altogether, one at least. */
    const long most = 30000 / (order->bytes + 1) + 1;
    const long warm_up = order->warm_up < most ? order->warm_up : 1;
    const long calls = order->calls < most ? order->calls : most;
    double time = 0;
    for (long i = 0; i < warm_up + calls; i++) {
        if (i == warm_up)
            time = 0;
        barrier(0);
        const double begin = now_ns();
        while (me == 0 && now_ns() - begin < 1e3 * (double)order->bytes)
            ;
        const double arrival = now_ns();
        operation->call(1);
        gate_done(me, (int)(i + 1) * pes);
        time += now_ns() - arrival;
    }
    return time / (double)calls;
}

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds that a call takes beyond the arrival of the last PE: the mean without the longest tenth, in which
 * other processes had the core. */
static double time_lost(long calls)
{
    static double lost[TIMED_CALLS];
    for (long i = 0; i < calls; i++) {
        double arrival = 0, departure = 0;
        for (int pe = 0; pe < pes; pe++) {
            arrival = fmax(arrival, gate->times[pe][i].arrival);
            departure = fmax(departure, gate->times[pe][i].departure);
        }
        lost[i] = departure - arrival;
    }
    qsort(lost, (size_t)calls, sizeof *lost, by_time);
    const long counted = calls - calls / 10;
    double sum = 0;
    for (long i = 0; i < counted; i++)
        sum += lost[i];
    return sum / (double)counted;
}

/* Nanoseconds per call of `name`, "DISTRIBUTION/OPERATION", from the last PE's arrival until all go on. */
static double measure_uneven(const char *name, const struct order *order)
{
    char distribution[sizeof order->operation] = "";
    const size_t length = strcspn(name, "/");
    memcpy(distribution, name, length);
    const double mean = (double)order->bytes;
    if (name[length] != '/' || pes > TIMED_PES || work_before(distribution, mean, 0, 0, pes) < 0) {
        fprintf(stderr, "no distribution \"%s\" of %d PEs in this program\n", distribution, pes);
        exit(1);
    }
    const struct operation *const operation = find(name + length + 1);
    /* Calls whose work takes 30 ms altogether, and whole bursts. */
    const long most = (30000 / (order->bytes + 1) / BURST + 1) * BURST;
    const long calls = most < TIMED_CALLS ? most : TIMED_CALLS;
    operation->call(1);
    barrier(0);
    for (long i = 0; i < calls; i++) {
        const double begin = now_ns(), end = begin + 1e3 * work_before(distribution, mean, i, me, pes);
        double now;
        while ((now = now_ns()) < end)
            ;
        gate->times[me][i].arrival = now;
        operation->call(1);
        gate->times[me][i].departure = now_ns();
    }
    gate_done(me, pes);
    return time_lost(calls);
}

int main(int argc, char **argv)
{
    program = argv[0];
    begin(&argc, &argv);
    if (argc < 3) {
        fprintf(stderr, "usage: PROGRAM BYTES GATE\n");
        return 1;
    }
    look_around();
    gate_open(argv[argc - 1]);
    const size_t bytes = strtoul(argv[argc - 2], NULL, 10);
    source = memory(bytes);
    dest = memory(bytes);
    if (!source || !dest) {
        fprintf(stderr, "no memory for two arrays of %zu bytes\n", bytes);
        return 1;
    }
    for (size_t i = 0; i < bytes / sizeof *source; i++) {
        source[i] = element(i) * (me + 1);
        dest[i] = 0;
    }
    barrier(0);
    struct order order;
    while (gate_pass(me, &order)) {
        const char late[] = "late/", uneven[] = "uneven/";
        double time;
        if (strncmp(order.operation, late, sizeof late - 1) == 0)
            time = measure_late(find(order.operation + sizeof late - 1), &order);
        else if (strncmp(order.operation, uneven, sizeof uneven - 1) == 0)
            time = measure_uneven(order.operation + sizeof uneven - 1, &order);
        else
            time = measure(find(order.operation), &order);
        if (me == 0) {
            printf("%.2f\n", time);
            fflush(stdout);
        }
    }
    end();
    return 0;
}
