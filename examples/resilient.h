/* Recovery for programs that compute vectors step by step and may lose PEs at any time.
 *
 * There is no checkpoint: the heap of a lost PE stays in the memory of its node, and has its rows
 * as they were; PEs of other nodes get them from one of that node. A whole node may be lost, too:
 * so a PE copies the rows of each step to its partner, a PE of another node, to the same place
 * there. Each vector exists twice, for even and odd steps, and a step reads one and writes the
 * other. A step begins with a synchronisation, so when a PE is lost, all PEs, also that one, still
 * have the step that the slowest one has completed. The others go on from there: they share its
 * rows ("shrink"), or new processes take its number and its heap ("replace").
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 62, WIDTH = SIZE + 2, MOST_PES = 256, MOST_VECTORS = 3 }; /* inner rows and columns */

typedef double row[WIDTH];

/* In the symmetric heap: vectors, of which each PE computes some rows; numbers that all PEs have;
 * how many steps this PE has completed; and how many steps of other PEs it has copies of. A new
 * process asks another PE where they are. */
static struct {
    row *vector[2][MOST_VECTORS];
    double *number;
    uint64_t *done, *copied;
} heap;

static int vectors; /* that the program has */
static shmem_team_t team; /* the PEs that compute */
static int n, pes[MOST_PES]; /* their numbers in the job */
static int me; /* this PE's number in the team */
static int node[MOST_PES]; /* of each PE of the job: the first PE of its node */

/* Member i of the team has the rows from first_row(i) to first_row(i + 1) - 1. */
static int first_row(int member)
{
    return 1 + SIZE * member / n;
}

static int owner(int row)
{
    int member = 0;
    while (first_row(member + 1) <= row)
        member++;
    return pes[member];
}

static void use_team(shmem_team_t new_team)
{
    team = new_team;
    me = shmem_team_my_pe(team);
    n = shmem_team_n_pes(team);
    for (int i = 0; i < n; i++)
        pes[i] = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
}

/* A PE is lost on another node: what was got from it has any value. */
static int is_gone(int pe)
{
    return shmemx_pe_state(pe) == SHMEMX_PE_FAILED && shmem_ptr(heap.done, pe) == NULL;
}

/* Gets a row of another PE; nonzero if it may not be right: then what this PE has there stays,
 * which may be its copy of that row. */
static int get_row(double *row, int from)
{
    double got[WIDTH];
    shmem_double_get(got, row, WIDTH, from);
    if (is_gone(from))
        return 1;
    memcpy(row, got, sizeof got);
    return 0;
}

/* Gets the rows of a vector that are next to this PE's; nonzero if they may not be right. */
static int get_border(row *vector)
{
    int before = first_row(me) - 1, after = first_row(me + 1);
    int lacks = before > 0 && get_row(vector[before], owner(before)) != 0;
    return (after <= SIZE && get_row(vector[after], owner(after)) != 0) || lacks;
}

/* The next member of a team, after one, that is on another node than it; -1 if there is none. */
static int partner(shmem_team_t which, int member)
{
    int size = shmem_team_n_pes(which);
    int pe = shmem_team_translate_pe(which, member, SHMEM_TEAM_WORLD);
    for (int i = 1; i < size; i++) {
        int other = shmem_team_translate_pe(which, (member + i) % size, SHMEM_TEAM_WORLD);
        if (node[other] != node[pe])
            return other;
    }
    return -1;
}

/* Copies this PE's rows, as they are after so many steps, to a partner. */
static void copy(uint64_t steps, int first, int end, int to)
{
    if (to < 0)
        return;
    for (int v = 0; v < vectors; v++) {
        row *rows = heap.vector[steps % 2][v] + first;
        shmem_putmem_nbi(rows, rows, (end - first) * sizeof(row), to);
    }
    shmem_fence();
    shmem_uint64_atomic_set(&heap.copied[shmem_my_pe()], steps, to);
    shmem_quiet();
}

/* A step is complete: a PE that is lost before has not counted it. */
static void complete(uint64_t steps)
{
    copy(steps, first_row(me), first_row(me + 1), partner(team, me));
    shmem_uint64_atomic_set(heap.done, steps, shmem_my_pe());
}

/* The least number of steps that a PE of the team has completed, of those that this PE can read. */
static uint64_t completed_by_some(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < n; i++) {
        uint64_t done = shmem_uint64_atomic_fetch(heap.done, pes[i]);
        if (is_gone(pes[i]) && partner(team, i) >= 0)
            done = shmem_uint64_atomic_fetch(&heap.copied[pes[i]], partner(team, i));
        if (done < least && !(is_gone(pes[i]) && is_gone(partner(team, i))))
            least = done;
    }
    shmem_uint64_atomic_set(heap.done, least, shmem_my_pe());
    return least;
}

/* The same of all PEs, also those that are lost: the others look at those of their nodes. If one
 * more is lost now, the next agreement says so. */
static uint64_t completed_by_all(shmem_team_t left)
{
    completed_by_some();
    shmem_team_sync(left);
    return completed_by_some();
}

/* Whether no PE of a team is lost: all that are left get the same answer. */
static int all_live(shmem_team_t which)
{
    int yes = 1;
    return shmemx_team_agree(which, &yes) == 0;
}

/* Takes the rows of lost PEs of this node to their places here, where other nodes can get them. */
static void take_rows(void)
{
    for (int i = 1; i <= SIZE; i++)
        for (int v = 0; v < vectors && shmemx_pe_state(owner(i)) == SHMEMX_PE_FAILED; v++)
            for (int k = 0; k < 2; k++) {
                double *row = heap.vector[k][v][i], *theirs = shmem_ptr(row, owner(i));
                if (theirs != NULL)
                    memcpy(row, theirs, WIDTH * sizeof(double));
            }
}

/* A PE that has the rows of another one: that itself, or one of its node, or its partner. */
static int reader(int pe)
{
    if (!is_gone(pe))
        return pe;
    for (int other = 0; other < shmem_n_pes(); other++)
        if (node[other] == node[pe] && shmemx_pe_state(other) == SHMEMX_PE_ALIVE)
            return other;
    int member = 0;
    while (pes[member] != pe)
        member++;
    return partner(team, member);
}

/* The PEs that are left share all rows. A row has the same place on all PEs, so a PE gets new rows
 * beside those that others still need if one more is lost meanwhile. */
static uint64_t shrink(void)
{
    for (;;) {
        shmem_team_t left;
        if (shmemx_team_shrink(team, &left) != 0)
            shmem_global_exit(1);
        take_rows();
        uint64_t step = completed_by_all(left);
        int members = shmem_team_n_pes(left), member = shmem_team_my_pe(left);
        int first = 1 + SIZE * member / members, end = 1 + SIZE * (member + 1) / members;
        int lacks = 0;
        for (int i = first; i < end; i++)
            for (int v = 0; v < vectors && owner(i) != shmem_my_pe(); v++)
                lacks |= get_row(heap.vector[step % 2][v][i], reader(owner(i)));
        if (!lacks)
            copy(step, first, end, partner(left, member));
        if (all_live(left)) {
            use_team(left);
            return step;
        }
    }
}

/* New processes take the numbers of the lost PEs: all rows are where they were. */
static uint64_t replace(void)
{
    uint64_t step;
    do {
        if (shmemx_replace() != 0)
            shmem_global_exit(1);
        step = completed_by_all(team);
    } while (!all_live(team));
    return step;
}

/* What such a process does first. */
static uint64_t join(void)
{
    shmemx_resilient();
    for (int pe = 0; heap.done == NULL && pe < shmem_n_pes(); pe++)
        shmem_getmem(&heap, &heap, sizeof heap, pe); /* empty in other new processes */
    uint64_t step = completed_by_all(team);
    return all_live(team) ? step : replace();
}

static uint64_t begin(void (*prepare)(void))
{
    for (int k = 0; k < 2; k++)
        for (int v = 0; v < vectors; v++)
            heap.vector[k][v] = shmem_calloc(WIDTH, sizeof(row));
    heap.number = shmem_calloc(2, sizeof(double));
    heap.done = shmem_calloc(1, sizeof(uint64_t));
    heap.copied = shmem_calloc(MOST_PES, sizeof(uint64_t));
    prepare();
    static int first;
    while (shmem_ptr(&first, first) == NULL)
        first++;
    shmem_int_fcollect(SHMEM_TEAM_WORLD, node, &first, 1);
    if (shmemx_resilient() != 0)
        shmem_global_exit(1);
    shmem_team_sync(SHMEM_TEAM_WORLD); /* from now on, PEs may be lost */
    if (shmem_my_pe() == 0) {
        printf("resilient\n");
        fflush(stdout);
    }
    return 0;
}

/* Computes so many steps. `prepare` fills the vectors; `compute` is given the steps that are done,
 * and returns nonzero if a PE is lost. */
static void run(uint64_t steps, int replaces, void (*prepare)(void), int (*compute)(uint64_t))
{
    use_team(SHMEM_TEAM_WORLD);
    uint64_t step = shmemx_restarted() > 0 ? join() : begin(prepare);
    for (;;) {
        while (step < steps && compute(step) == 0)
            step++;
        if (all_live(team)) /* then all have completed all steps */
            return;
        step = replaces ? replace() : shrink();
    }
}
