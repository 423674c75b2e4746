/* PEs that kill themselves, in a job that goes on without them: the others agree, shrink teams, and go on over these.
 * The memory of a failed PE stays what the model has, and the target of others' operations. */
#ifndef FUZZ_FAILURES_H
#define FUZZ_FAILURES_H

#include <signal.h>

#include "objects.h"

enum { MOST_VICTIMS = 2 };

/* What this PE says in an agreement, and all of these together. */
static int vote_of(int pe) { return ~(1 << pe % 31); }

/* Some of the PEs of a team agree. Returns how many have failed. */
static int agree(const struct team *t, uint64_t voters, int number)
{
    int value = vote_of(me), expected = -1;
    for (int pe = 0; pe < n; pe++)
        if (voters & bit(pe))
            expected &= vote_of(pe);
    int failed = F(shmemx_team_agree)(t->handle, &value);
    if (value != expected)
        differs(number, "shmemx_team_agree: %x, and not %x", value, expected);
    return failed;
}

/* A team of the PEs of a team that are left. */
static struct team *shrink(const struct team *t, int number)
{
    int members[MOST_PES], size = 0;
    shmem_team_t handle = SHMEM_TEAM_INVALID;
    for (int k = 0; k < t->size; k++)
        if (is_left(t->pes[k]))
            members[size++] = k;
    if (t->rank[me] >= 0)
        expect_that(F(shmemx_team_shrink)(t->handle, &handle) == 0, "shmemx_team_shrink", number);
    return add_team(t, members, size, handle, "shmemx_team_shrink", number);
}

/* An agreement and a smaller team where none has failed; where failures do not end the job, of a team that is revoked
 * while its PEs wait in it. */
static void shrink_whole(struct rng *rng, int number)
{
    int i = draw_team(rng), revokes = loses && teams[i].alive == 1 && once_in(rng, 2), by = below(rng, teams[i].size);
    struct team *t = &teams[i];
    if (t->rank[me] >= 0 && revokes) {
        /* One that is still in an earlier collective of the team may return from that with an error. */
        agree(t, t->mask, number);
        if (t->rank[me] == by)
            expect_that(F(shmemx_team_revoke)(t->handle) == 0, "shmemx_team_revoke", number);
        while (F(shmem_team_sync)(t->handle) == 0)
            ;
    }
    if (t->rank[me] >= 0)
        expect_that(agree(t, t->mask, number) == 0, "shmemx_team_agree where none has failed", number);
    if (free_teams() > 0)
        shrink(t, number);
    if (revokes)
        end_team(i);
}

/* Waits until a team of which PEs fail has failed, by one of the calls that notice. */
static void notice(const struct team *t, int how, int victim, uint64_t known, int number)
{
    static long source, dest;
    long word;
    int code = 0;
    shmemx_req_h request;
    switch (how) {
    case 0:
        F(shmem_uint64_wait_until)(F(shmemx_failures)(), SHMEM_CMP_GT, known);
        break;
    case 1:
        while (F(shmem_team_sync)(t->handle) == 0)
            ;
        break;
    case 2:
        while (F(shmem_long_sum_reduce)(t->handle, &dest, &source, 1) == 0)
            ;
        break;
    case 3:
        for (; code == 0; code = F(shmemx_req_wait)(&request))
            expect_that(forms[0].fcollect(t->handle, areas[1].base, &word, 0, &request) == 0, "shmemx_fcollectmem_nb",
                        number);
        break;
    case 4:
        code = F(shmemx_msg_recv)(t->handle, &word, sizeof word, t->rank[victim], INT_MAX, NULL);
        expect_that(code == SHMEMX_MSG_FAILED, "shmemx_msg_recv from a PE that fails", number);
        break;
    case 5:
        while (*F(shmemx_failures)() == known)
            F(shmem_barrier_all)();
        break;
    default:
        break;
    }
}

/* What all know of the failures of a team. */
static void look_at_failures(const struct team *t, uint64_t victims, uint64_t known, int number)
{
    int failed[MOST_PES], count = F(shmemx_team_failed)(t->handle, failed, MOST_PES);
    uint64_t found = 0;
    for (int i = 0; i < count; i++)
        found |= bit(t->pes[failed[i]]);
    if (found != victims)
        differs(number, "shmemx_team_failed: the PEs %llx, and not %llx", (unsigned long long)found,
                (unsigned long long)victims);
    for (int pe = 0; pe < n; pe++)
        expect_that(F(shmemx_pe_state)(pe) == (is_left(pe) ? SHMEMX_PE_ALIVE : SHMEMX_PE_FAILED), "shmemx_pe_state",
                    number);
    expect_that(*F(shmemx_failures)() == known, "shmemx_failures", number);
}

/* What PEs have open over a team when it fails: a stream with an item for each, an exchange, a reduction. */
static struct {
    shmemx_stream_t stream;
    shmemx_graph_t ring;
    shmemx_req_h exchange, reduction;
} opened;

static void open_over(const struct team *t, int number)
{
    static const int periodic = 1;
    static long dest[3], source[3];
    int ok = F(shmemx_stream_create)(t->handle, sizeof(long), 0, &opened.stream) == 0
             && F(shmemx_cart_create)(t->handle, 1, &t->size, &periodic, &opened.ring) == 0
             && F(shmemx_neighbor_alltoallmem_init)(opened.ring, dest, source, sizeof(long), &opened.exchange) == 0
             && forms[1].reduce(t->handle, dest + 2, source + 2, 1, SHMEMX_SIGNED + 8, SHMEMX_SUM,
                                &opened.reduction) == 0;
    expect_that(ok, "a stream, a graph and persistent requests", number);
    /* A PE that has returned may fail while others are in the last call. */
    meet();
}

/* Before the failure is known. */
static void use_opened(const struct team *t)
{
    long item = t->rank[me];
    for (int k = 0; k < t->size; k++)
        F(shmemx_stream_push)(opened.stream, &item, k);
    F(shmemx_req_start)(&opened.reduction);
}

/* What a team has open that has failed ends, without waiting for any PE. */
static void end_opened(int number)
{
    long item;
    int from;
    F(shmemx_stream_end)(opened.stream);
    while (F(shmemx_stream_wait)(opened.stream))
        while (F(shmemx_stream_pull)(opened.stream, &item, &from))
            expect_that(item == from, "an item of a stream that fails", number);
    expect_that(F(shmemx_req_wait)(&opened.reduction) == -1, "a reduction that was started before", number);
    F(shmemx_req_start)(&opened.exchange);
    F(shmemx_req_start)(&opened.reduction);
    expect_that(F(shmemx_req_wait)(&opened.reduction) == -1, "a reduction of a team that has failed", number);
    expect_that(F(shmemx_req_wait)(&opened.exchange) == -1, "an exchange of a team that has failed", number);
    F(shmemx_req_free)(&opened.reduction);
    F(shmemx_req_free)(&opened.exchange);
    F(shmemx_graph_destroy)(opened.ring);
    F(shmemx_stream_destroy)(opened.stream);
}

/* One PE or two end, after so many microseconds; the second perhaps once it has agreed on the failure of the first. */
static struct {
    int how, first, count, pause;
    uint64_t early, victims, known;
} loss;

/* What this PE counts of failures that were replaced. */
static uint64_t past;

/* Whether each node has a PE of these: one that loses its last ends the job. */
static int are_on_all_nodes(uint64_t pes)
{
    for (int pe = 0; pe < n; pe++) {
        int other = 0;
        while (other < n && (!(pes & bit(other)) || first_of[0][other] != first_of[0][pe]))
            other++;
        if (other == n)
            return 0;
    }
    return 1;
}

/* From now on, nothing is drawn for the PEs that end early, and no collective that needs them. */
static void doom(struct rng *rng, int number)
{
    const struct team *t = &teams[everyone];
    int count = t->size > 2 && once_in(rng, 3) ? 2 : 1, late = count == 2 && once_in(rng, 2), how = below(rng, 7);
    int first = 0, pause;
    uint64_t early = 0, victims = t->mask;
    for (int tries = 0; !are_on_all_nodes(t->mask & ~victims); tries++) {
        if (t->size < 2 || free_teams() == 0 || tries == 8)
            return;
        first = below(rng, t->size);
        early = victims = bit(t->pes[first]);
        if (count == 2)
            victims |= bit(t->pes[(first + between(rng, 1, t->size - 1)) % t->size]);
    }
    pause = below(rng, 2) * below(rng, 3000);
    if (!late)
        early = victims;
    loss.how = how;
    loss.first = t->pes[first];
    loss.count = count;
    loss.pause = pause;
    loss.known = past + (uint64_t)__builtin_popcountll(lost);
    loss.early = early;
    loss.victims = victims;
    open_over(t, number);
    lost |= early;
    dying = early;
}

static void end_if_doomed(void)
{
    if (loss.early & bit(me)) {
        pause_for(loss.pause);
        raise(SIGKILL);
    }
}

static void recover(struct rng *rng, int number)
{
    struct team *t = &teams[everyone];
    uint64_t victims = loss.victims;
    int count = loss.count, late = victims != loss.early;
    use_opened(t);
    notice(t, loss.how, loss.first, loss.known, number);
    int failed = agree(t, t->mask & ~loss.early, number);
    if (victims & bit(me)) {
        /* Padding, and zeros with a sign, which the others do not compare. */
        compare_elements();
        raise(SIGKILL);
    }
    if (failed < (late ? 1 : count) || failed > count)
        differs(number, "shmemx_team_agree: %d PEs of %d have failed", failed, count);
    if (late)
        expect_that(agree(t, t->mask & ~victims, number) == count, "a second shmemx_team_agree", number);
    lost |= victims;
    loss.count = 0;
    look_at_failures(t, victims, loss.known + (uint64_t)count, number);
    end_opened(number);
    t->failed = 1;
    int all = (int)(shrink(t, number) - teams);
    if (everyone != 0)
        t->alive = 1;
    everyone = all;
    teams[all].alive = 2;
    for (int i = 0; i < MOST_TEAMS; i++) {
        t = &teams[i];
        if (!t->alive || t->failed || !(t->mask & lost))
            continue;
        t->failed = 1;
        if ((t->mask & ~lost) != 0 && free_teams() > 0 && once_in(rng, 2))
            shrink(t, number);
        if (t->alive == 1 && ((t->mask & ~lost) == 0 || once_in(rng, 2)))
            end_team(i);
    }
}

/* What a new process has to know, of PEs that were there before: where to go on. */
static struct {
    int step;
    unsigned char *heap;
} resumed;

/* All PEs begin anew, with what a new process knows: other teams, contexts and contents. */
static void begin_anew(void)
{
    struct rng rng = rng_of(seed, (uint64_t)resumed.step, UINT64_MAX);
    lost = 0;
    everyone = 0;
    past = *F(shmemx_failures)();
    memset(teams, 0, sizeof teams);
    memset(contexts, 0, sizeof contexts);
    memset(sync_arrays, 0, sizeof sync_arrays);
    memset(signals_to, 0, sizeof signals_to);
    read_signal = result_signal = 0;
    results = 0;
    for (int i = 0; i < area_count; i++)
        refill(&areas[i], 0, areas[i].bytes, &rng);
    F(shmem_barrier_all)();
}

/* New processes take the numbers of the PEs that are lost, with their heaps. */
static void replace_lost(void)
{
    for (int i = 0; i < MOST_TEAMS; i++)
        if (teams[i].alive && teams[i].handle != SHMEM_TEAM_WORLD && teams[i].handle != SHMEM_TEAM_SHARED)
            end_team(i);
    for (int c = 1; c < MOST_CONTEXTS; c++)
        if (contexts[c].alive)
            destroy_context(c);
    if (space != SHMEMX_SPACE_INVALID)
        end_space();
    while (area_count > fixed_areas) {
        F(shmem_free)(areas[area_count - 1].base);
        remove_area(area_count - 1);
    }
    resumed.step = step + 1;
    resumed.heap = areas[1].base;
    expect_that(F(shmemx_replace)() == 0, "shmemx_replace", 0);
    for (int pe = 0; pe < n; pe++)
        if (acts_for(pe))
            compare_lost(&areas[1], pe);
    F(shmem_barrier_all)();
    begin_anew();
}

/* In a new process: what the others know. */
static void ask_others(void)
{
    for (int pe = 0; resumed.heap == NULL; pe = (pe + 1) % n)
        if (pe != me)
            F(shmem_getmem)(&resumed, &resumed, sizeof resumed, pe);
}

#endif
