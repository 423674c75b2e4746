//! Splitting and destroying teams. Collective over the parent.
//!
//! The members must agree on ids that are free on all of them, and on a count from which the epochs of the new teams go
//! on: past every value that a flag in their slots may show. One synchronisation of the parent does both
//! ([`Group::combine_words`]): it unites the bitmaps of used ids, a block of them at a time, and finds the greatest
//! count at which any member has left any team. Meanwhile no other thread of a future member splits a team, so that
//! what it has said stays true. If one does already, the split of the team with the smaller id has precedence: the
//! other says that it is busy, and all its members try again. After the synchronisation a member may use the new team
//! at once: the other members' slots are its own, though they may still be about to add the team to their tables.
//!
//! Destroying synchronises the team itself. So a split and a destruction cost two barriers.
//!
//! The first call on an active set has no team to synchronise by, but a work array, by which members publish
//! single values. Between two synchronisations, all members read the same bitmaps and choose the same lowest free
//! id; then they claim it. Each publishes whether its claim succeeded, since another thread may claim the
//! same id for another set, and if one failed, all members try again.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_core::constants::PREDEFINED_TEAMS;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::{Group, Words};
use ferroshmem_core::job::mailboxes;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{IdLock, MAILBOX_PAGES, Members, NewTeam, Team, Teams, health};
use ferroshmem_core::wait::flag::reached;
use ferroshmem_layout::{ACTIVE_SETS, MAX_TEAMS, MailboxPage, SHADOW, StatusArea, TeamIds};

/// The ids that this PE uses, in memory that the other PEs of the job can read.
pub(crate) fn own_ids(node: &Node) -> &'static TeamIds {
    match node.transport.internode() {
        Some(internode) => &internode.mailboxes.status(node.job.index).team_ids,
        None => &node.job.block().team_ids,
    }
}

/// Word `w` of the ids that PE `pe` uses.
fn used_ids(node: &Node, pe: usize, w: usize) -> u64 {
    if node.transport.internode().is_none() {
        let ids = &node.job.control.pe_block(pe).team_ids;
        return ids.words[w].load(Ordering::Relaxed);
    }
    let at = mailboxes::STATUS + std::mem::offset_of!(StatusArea, team_ids);
    node.transport.read_mailbox(pe, at + w * size_of::<u64>())
}

/// Words of the bitmap that are united at once.
pub(crate) const BLOCK: usize = 3;
/// Words of the bitmap that teams have; active sets have the others.
pub(crate) const TEAM_WORDS: usize = (MAX_TEAMS - ACTIVE_SETS) / 64;
const BLOCKS: usize = TEAM_WORDS.div_ceil(BLOCK);
/// In the word of counts: a member could not say which ids are free, since another thread of it splits a team.
const BUSY: u64 = 1 << 63;
/// The same: a member knows that a PE of the job has failed, so that teams may have left their slots at any point.
const FAILED: u64 = 1 << 62;

/// Most teams that a call makes.
const MOST: usize = 2;

/// What one member needs to take part in a split.
struct Claim<'a> {
    /// Id of the parent.
    parent: usize,
    /// The ids that this PE uses.
    used: &'a TeamIds,
    /// The greatest count of epochs at which it has left a team.
    epochs: &'a AtomicU64,
    /// Kept while other threads of this PE must not claim ids.
    splitting: &'a AtomicU32,
    /// Where to begin: the same on all members.
    block: usize,
    /// Number of ids to claim.
    wanted: usize,
    /// Whether this PE will be a member of the new teams.
    is_member: bool,
    /// Whether a PE of the job has failed.
    has_failures: bool,
}

/// Ids that the members of a parent have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claimed {
    ids: [usize; MOST],
    /// Count at which the epochs of the new teams begin.
    epochs: u64,
    /// Where the last id was found.
    block: usize,
}

/// A thread of another split was in the way on some member.
struct Busy;

impl Claim<'_> {
    /// What this member says of a block.
    fn words(&self, block: usize) -> Words {
        let used = |i: usize| match block * BLOCK + i {
            w if w < TEAM_WORDS => self.used.words[w].load(Ordering::Acquire),
            _ => u64::MAX,
        };
        let [a, b, c] = std::array::from_fn(used);
        // After the bitmaps: the count includes the team that has left an id which they show to be free.
        let failed = if self.has_failures { FAILED } else { 0 };
        [a, b, c, self.epochs.load(Ordering::Relaxed) | failed]
    }

    /// Claims the ids on all future members of the new teams. None if there are not as many.
    fn agree(&self, group: &Group<'_>) -> Option<Claimed> {
        for attempt in 0.. {
            // Gives way for longer and longer.
            for _ in 0..attempt {
                std::thread::yield_now();
            }
            let lock = self.is_member.then(|| IdLock::take(self.splitting, self.parent));
            if let Ok(claimed) = self.scan(group, matches!(lock, Some(None))) {
                return claimed;
            }
        }
        None
    }

    /// Goes through the blocks until enough free ids are found.
    fn scan(&self, group: &Group<'_>, is_busy: bool) -> Result<Option<Claimed>, Busy> {
        let mut ids = [0; MOST];
        let mut found = 0;
        for block in (0..BLOCKS).map(|i| (self.block + i) % BLOCKS) {
            let mut mine = self.words(block);
            if is_busy {
                mine[BLOCK] |= BUSY;
            }
            let all = group.combine_words(mine);
            if group.has_failed() {
                return Ok(None);
            }
            let epochs = all[BLOCK];
            if epochs & BUSY != 0 {
                return Err(Busy);
            }
            for (i, used) in all[..BLOCK].iter().enumerate() {
                let mut free = !used;
                if block + i == 0 {
                    free &= u64::MAX << PREDEFINED_TEAMS;
                }
                while free != 0 && found < self.wanted {
                    ids[found] = (block * BLOCK + i) * 64 + free.trailing_zeros() as usize;
                    free &= free - 1;
                    found += 1;
                }
            }
            if found == self.wanted {
                for id in ids[..found].iter().filter(|_| self.is_member) {
                    self.used.words[id / 64].fetch_or(1 << (id % 64), Ordering::AcqRel);
                }
                return Ok(Some(Claimed { ids, epochs, block }));
            }
        }
        Ok(None)
    }
}

/// The lowest of `ids` that is free on all members of `parent`.
fn lowest_free_id(node: &Node, parent: &Group<'_>, ids: &Range<usize>) -> Option<usize> {
    (ids.start / 64..ids.end / 64).find_map(|w| {
        let used = (0..parent.size).fold(0, |used, i| used | used_ids(node, parent.pe(i), w));
        let used = if w == 0 { used | ((1 << PREDEFINED_TEAMS) - 1) } else { used };
        (used != u64::MAX).then(|| w * 64 + used.trailing_ones() as usize)
    })
}

/// Claims one of `ids` on all PEs of an active set. None if no id is free.
fn claim_id(node: &Node, parent: &Group<'_>, ids: Range<usize>) -> Option<usize> {
    const LOST: u64 = 0;
    const AGREED: u64 = 1;
    /// Each failure but a few is another thread's success, so so many in a row have another cause.
    const ATTEMPTS: usize = 1000;

    for _ in 0..ATTEMPTS {
        parent.sync();
        if parent.has_failed() {
            return None;
        }
        let id = lowest_free_id(node, parent, &ids);
        // No member may claim before all members have read the bitmaps.
        parent.sync();
        // If a bitmap changed while members read it, they may have chosen different ids. So each
        // member publishes its id, and they agree only if all published values are equal.
        let bit = id.map_or(0, |id| 1 << (id % 64));
        let word = id.map(|id| &own_ids(node).words[id / 64]);
        let claimed = match word {
            Some(word) => word.fetch_or(bit, Ordering::AcqRel) & bit == 0,
            _ => true,
        };
        let mine = if claimed { AGREED + id.map_or(0, |id| id as u64 + 1) } else { LOST };
        let epoch = parent.epoch();
        epoch.publish(mine);
        epoch.synchronise();
        let agreed = (0..parent.size).all(|i| epoch.published(i) == mine) && claimed;
        parent.leave();
        if agreed {
            return id;
        }
        if let Some(word) = word
            && claimed
        {
            word.fetch_and(!bit, Ordering::AcqRel);
        }
    }
    fatal(
        parent.name,
        "the PEs cannot agree on a team: they call different collectives, or pSync is in use by another one or not \
            initialised; set its elements to SHMEM_SYNC_VALUE and call shmem_barrier_all before its first use",
    )
}

/// Marks the ids of destroyed teams that had failed as free on this PE.
#[cold]
#[inline(never)]
pub(crate) fn release_spent(node: &Node, teams: &Teams) {
    for (used, spent) in own_ids(node).words.iter().zip(&teams.spent) {
        used.fetch_and(!spent.swap(0, Ordering::Relaxed), Ordering::Release);
    }
}

/// Marks an id as free on this PE.
pub fn release_id(node: &Node, id: usize) {
    own_ids(node).words[id / 64].fetch_and(!(1 << (id % 64)), Ordering::Release);
}

/// Creates the teams that a call makes, in some of which this PE is: gives their members and numbers of contexts.
/// Returns a handle for each, 0 for one that this PE is not in; None if no ids are left.
fn create(
    node: &Node,
    teams: &Teams,
    (group, parent): (&Group<'_>, &Team),
    wanted: &[(Option<Members>, i32)],
) -> Option<[usize; MOST]> {
    let claim = Claim {
        parent: parent.id,
        used: own_ids(node),
        epochs: &node.job.block().team_epochs,
        splitting: teams.splitting(),
        block: parent.id_block.load(Ordering::Relaxed) as usize,
        wanted: wanted.len(),
        is_member: wanted.iter().any(|(members, _)| members.is_some()),
        has_failures: health::is_on() && (health::has_left_failed() || node.job.control.failures().count() > 0),
    };
    if claim.has_failures {
        quiet_mailboxes(node);
    }
    let claimed = match claim.agree(group) {
        None if health::is_on() && !group.has_failed() => {
            release_spent(node, teams);
            claim.agree(group)?
        }
        claimed => claimed?,
    };
    parent.id_block.store(claimed.block as u32, Ordering::Relaxed);
    // Teams that were left at any point leave flags at any count: these slots begin anew.
    let is_anew = claimed.epochs & FAILED != 0;
    let epochs = if is_anew { 0 } else { claimed.epochs };
    let mut handles = [0; MOST];
    for (i, (members, num_contexts)) in wanted.iter().enumerate() {
        let Some(members) = members.clone() else { continue };
        let new = NewTeam {
            id: claimed.ids[i],
            members,
            num_contexts: *num_contexts,
            epoch: epochs,
            mailbox_epochs: [epochs; 2],
            since: parent.since(),
        };
        if is_anew {
            clear_slots(node, new.id);
        }
        handles[i] = insert(node, teams, new);
    }
    if is_anew || node.transport.internode().is_some() {
        // Other nodes' PEs write to mailboxes that all members have opened, and PEs of this one to cleared slots.
        group.sync();
    }
    Some(handles)
}

/// Creates the team that serves an active set, in the first call on the set. Returns its id, or
/// None if no id is left.
pub fn create_for_active_set(node: &Node, teams: &Teams, set: &Group<'_>) -> Option<usize> {
    if set.size == 1 {
        return None;
    }
    let id = claim_id(node, set, MAX_TEAMS - ACTIVE_SETS..MAX_TEAMS)?;
    let since = teams.world().since();
    let mut new =
        NewTeam { id, members: set.members().clone(), num_contexts: 0, epoch: 0, mailbox_epochs: [0; 2], since };
    continue_counts(node, &mut new);
    insert(node, teams, new);
    // After the call a member may use the team at once, so all must have read the counts in its
    // slots before.
    set.sync();
    Some(id)
}

/// The slots continue to count where the last team with this id stopped, past every value that
/// their flags show. All members compare in the same order, so they find the same count even if
/// counts differ by so much that "later" is not transitive.
fn continue_counts(node: &Node, new: &mut NewTeam) {
    let latest = |a: u64, b: u32| if reached(b, a as u32) { b.into() } else { a };
    for member in 0..new.members.size {
        let pe = new.members.pe(member);
        if let Some(index) = node.job.placement.local_index(pe) {
            let own = &node.job.control.team_slot(new.id, index).own;
            new.epoch = latest(new.epoch, own.epoch.load(Ordering::Relaxed));
        }
        if node.transport.internode().is_some() {
            for (page, count) in MAILBOX_PAGES.into_iter().zip(&mut new.mailbox_epochs) {
                let at = mailboxes::team_mailbox_offset(new.id) + page + std::mem::offset_of!(MailboxPage, epoch);
                *count = latest(*count, node.transport.read_mailbox(pe, at) as u32);
            }
        }
    }
}

/// Nothing that this PE has sent to mailboxes of other teams is on the way when they are cleared.
#[cold]
#[inline(never)]
pub(crate) fn quiet_mailboxes(node: &Node) {
    if let Some(internode) = node.transport.internode() {
        internode.fabric().quiet(&internode.context);
    }
}

/// Zeroes this PE's slots of a team that no PE uses yet, and of the team's shadow.
#[cold]
#[inline(never)]
pub(crate) fn clear_slots(node: &Node, id: usize) {
    for id in [id, id + SHADOW] {
        let slot = ptr::from_ref(node.job.control.team_slot(id, node.job.index)).cast_mut();
        // SAFETY: all is atomics, and cells that are accessed by raw pointers; this PE alone writes there until the
        // members have synchronised.
        unsafe { slot.write_bytes(0, 1) };
        if let Some(internode) = node.transport.internode() {
            let mailbox = ptr::from_ref(internode.mailboxes.team_mailbox(node.job.index, id)).cast_mut();
            // SAFETY: as above; nothing that was sent to it is on the way.
            unsafe { mailbox.write_bytes(0, 1) };
        }
    }
}

/// Adds a team to this PE's teams; returns its handle.
pub(crate) fn insert(node: &Node, teams: &Teams, new: NewTeam) -> usize {
    if let Some(internode) = node.transport.internode() {
        internode.open_mailboxes(new.id).unwrap_or_else(|e| fatal("shmem_team_split", e));
    }
    let own = &node.job.control.team_slot(new.id, node.job.index).own;
    own.entered.store(0, Ordering::Relaxed);
    teams.insert(node, new)
}

/// `shmem_team_split_strided`: the handle for this PE (0 outside the new team), or None if
/// the members asked for are not all in the parent or no id is left.
pub fn split_strided(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    (start, stride, size): (i32, i32, i32),
    num_contexts: i32,
) -> Option<usize> {
    let group = Group::of_team(node, name, parent);
    let Some(members) = parent.members.strided(start, stride, size) else {
        group.sync();
        return None;
    };
    let mine = members.index_of(node.me).map(|_| members);
    let handles = create(node, teams, (&group, parent), &[(mine, num_contexts)])?;
    Some(handles[0])
}

/// `shmemx_team_split_list`: a team of these members of the parent, each named once and in range: the handle for this
/// PE (0 outside of the team, or if it is empty), or None if no id is left.
pub fn split_list(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    indices: impl ExactSizeIterator<Item = usize>,
    num_contexts: i32,
) -> Option<usize> {
    let group = Group::of_team(node, name, parent);
    if indices.len() == 0 {
        group.sync();
        return Some(0);
    }
    let members = parent.members.pick(indices);
    let mine = members.index_of(node.me).map(|_| members);
    let handles = create(node, teams, (&group, parent), &[(mine, num_contexts)])?;
    Some(handles[0])
}

/// `shmemx_team_split_color`: a team of the members that give this PE's color, numbered by their keys, and by their
/// numbers in the parent where those are the same. Returns its handle, 0 if this PE gives no color, or None if no id is
/// left.
pub fn split_color(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    (color, key): (Option<u64>, i64),
    num_contexts: i32,
) -> Option<usize> {
    let group = Group::of_team(node, name, parent);
    let mine = [u64::from(color.is_some()), color.unwrap_or(0), key as u64];
    for (word, value) in mine.into_iter().enumerate() {
        group.publish_call_word(word, value);
    }
    group.sync();
    // No member goes past the agreement on ids before all have read the words.
    let members = color.map(|_| {
        let same = (0..group.size).filter(|m| (0..2).all(|word| group.call_word(*m, word) == mine[word]));
        let mut keys: Vec<(i64, usize)> = Vec::new();
        for member in same {
            // In their order mostly; a sort would be kilobytes of code.
            let key = (group.call_word(member, 2) as i64, member);
            keys.insert(keys.partition_point(|other| *other < key), key);
        }
        parent.members.pick(keys.into_iter().map(|(_, member)| member))
    });
    let handles = create(node, teams, (&group, parent), &[(members, num_contexts)])?;
    Some(handles[0])
}

/// `shmem_team_split_2d`: this PE's row and column teams, or None.
pub fn split_2d(
    node: &Node,
    teams: &Teams,
    name: &'static str,
    parent: &Team,
    xrange: usize,
    num_contexts: [i32; 2],
) -> Option<[usize; 2]> {
    let n = parent.members.size;
    let width = xrange.min(n);
    let (x, y) = (parent.index % width, parent.index / width);
    let row = parent.members.strided((y * width) as i32, 1, width.min(n - y * width) as i32);
    let column = parent.members.strided(x as i32, width as i32, (n - x).div_ceil(width) as i32);
    let group = Group::of_team(node, name, parent);
    let [x, y] = num_contexts;
    create(node, teams, (&group, parent), &[(row, x), (column, y)])
}

/// Destroys a team that the program has made, and whose contexts are gone. Collective over its members.
pub fn destroy(node: &Node, teams: &Teams, name: &'static str, team: &Team, synchronised: impl FnOnce()) {
    Group::of_team(node, name, team).sync();
    let (id, has_failed) = (team.id, team.has_failed());
    synchronised();
    team.leave(node);
    teams.remove(id);
    if has_failed {
        health::leave_failed();
        teams.spent[id / 64].fetch_or(1 << (id % 64), Ordering::Relaxed);
    } else {
        release_id(node, id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_core::group::threads;
    use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable};
    use std::sync::Mutex;

    /// What splits use of one PE.
    struct Ids {
        used: TeamIds,
        epochs: AtomicU64,
        splitting: AtomicU32,
    }

    impl Ids {
        fn new(epochs: u64) -> Self {
            Self {
                used: TeamIds { words: std::array::from_fn(|_| AtomicU64::new(0)) },
                epochs: AtomicU64::new(epochs),
                splitting: AtomicU32::new(0),
            }
        }

        fn mark(&self, ids: Range<usize>) {
            for id in ids {
                self.used.words[id / 64].fetch_or(1 << (id % 64), Ordering::Relaxed);
            }
        }

        fn is_used(&self, id: usize) -> bool {
            self.used.words[id / 64].load(Ordering::Relaxed) >> (id % 64) & 1 != 0
        }

        fn claim(&self, parent: usize, wanted: usize, is_member: bool) -> Claim<'_> {
            Claim {
                parent,
                used: &self.used,
                epochs: &self.epochs,
                splitting: &self.splitting,
                block: 0,
                wanted,
                is_member,
                has_failures: false,
            }
        }
    }

    const BARRIERS: [Algorithm; 3] = [Algorithm::Central, Algorithm::Dissemination, Algorithm::Tree];

    fn decisions(barrier: Algorithm) -> DecisionTable {
        DecisionTable::fixed(Collective::Barrier, Choice::direct(barrier))
    }

    /// The ids that all members get, and whether there were enough.
    fn claimed_by_all(pes: &[Ids], wanted: usize, outside: usize) -> Option<Claimed> {
        let results = Mutex::new(Vec::new());
        threads::run(pes.len(), |member| {
            let decisions = decisions(BARRIERS[pes.len() % 3]);
            let claim = pes[member.me].claim(0, wanted, member.me >= outside);
            let claimed = claim.agree(&member.group(&decisions));
            results.lock().unwrap().push(claimed);
        });
        let results = results.into_inner().unwrap();
        assert!(results.iter().all(|claimed| *claimed == results[0]));
        results[0]
    }

    /// A split of a team of any size is one epoch, in which a member reads a few words for each
    /// doubling of the members at most, whether it makes one team or rows and columns.
    #[test]
    fn a_split_is_one_epoch() {
        for (barrier, most) in BARRIERS.into_iter().zip([1, 6, 5]) {
            for wanted in [1, 2] {
                let pes: Vec<_> = (0..64).map(|_| Ids::new(0)).collect();
                threads::run(64, |member| {
                    let decisions = decisions(barrier);
                    let group = member.group(&decisions);
                    let claimed = pes[member.me].claim(0, wanted, true).agree(&group);
                    assert_eq!(claimed.unwrap().ids[0], PREDEFINED_TEAMS);
                    assert_eq!(member.epochs(), 1);
                    let (read, written) = group.traffic().total();
                    assert!(read <= most * size_of::<Words>(), "{barrier:?}: {read}");
                    assert!(written <= 6 * size_of::<Words>(), "{barrier:?}: {written}");
                });
            }
        }
    }

    #[test]
    fn ids_are_free_on_all_members_and_used_afterwards() {
        for size in [1, 2, 3, 7] {
            let pes: Vec<_> = (0..size).map(|me| Ids::new(10 * me as u64)).collect();
            for (me, ids) in pes.iter().enumerate() {
                ids.mark(3 * me..3 * me + 3);
            }
            let first = PREDEFINED_TEAMS.max(3 * size);
            let claimed = claimed_by_all(&pes, 2, 0).unwrap();
            assert_eq!(claimed.ids, [first, first + 1]);
            assert_eq!(claimed.epochs, 10 * (size as u64 - 1));
            assert!(claimed.ids.iter().all(|id| pes.iter().all(|pe| pe.is_used(*id))));
            // A PE outside of the new team keeps the id for others.
            let next = claimed_by_all(&pes, 1, 1).map(|c| c.ids[0]);
            assert_eq!(next, Some(first + 2));
            assert!(!pes[0].is_used(first + 2));
        }
    }

    #[test]
    fn all_ids_are_found_and_no_more() {
        let last = MAX_TEAMS - ACTIVE_SETS - 1;
        let pes = [Ids::new(0), Ids::new(0)];
        pes[0].mark(0..last - 200);
        pes[1].mark(last - 200..last);
        assert_eq!(claimed_by_all(&pes, 2, 0), None);
        assert_eq!(claimed_by_all(&pes, 1, 0).map(|c| c.ids[0]), Some(last));
        assert_eq!(claimed_by_all(&pes, 1, 0), None);
        // One on either side of other blocks.
        pes[0].used.words[0].store(!4, Ordering::Relaxed);
        pes[0].used.words[100].store(!1, Ordering::Relaxed);
        pes[1].used.words[0].store(0, Ordering::Relaxed);
        pes[1].used.words[100].store(0, Ordering::Relaxed);
        pes[1].used.words[111].store(u64::MAX, Ordering::Relaxed);
        let expected = if PREDEFINED_TEAMS > 2 { None } else { Some([2, 6400]) };
        assert_eq!(claimed_by_all(&pes, 2, 0).map(|c| c.ids), expected);
    }

    /// Two threads of each PE split two teams at once, many times: both get ids, never the same one.
    #[test]
    fn two_splits_at_once_get_different_ids() {
        const SIZE: usize = 4;
        const SPLITS: usize = 200;
        let pes: Vec<_> = (0..SIZE).map(|_| Ids::new(0)).collect();
        let seen: [_; 2] = std::array::from_fn(|_| Mutex::new(Vec::new()));
        let members = |team: usize| threads::Member::all(SIZE, 0).map(move |m| (team, m));
        threads::each(members(0).chain(members(1)), |(team, member)| {
            let decisions = decisions(Algorithm::Central);
            for _ in 0..SPLITS {
                let claim = pes[member.me].claim(team, 1, true);
                let claimed = claim.agree(&member.group(&decisions)).unwrap();
                if member.me == 0 {
                    seen[team].lock().unwrap().push(claimed.ids[0]);
                }
            }
        });
        let mut all: Vec<_> = seen.iter().flat_map(|s| s.lock().unwrap().clone()).collect();
        all.sort_unstable();
        assert_eq!(all.len(), 2 * SPLITS);
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "an id was claimed twice");
    }
}
