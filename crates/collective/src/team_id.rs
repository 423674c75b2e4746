//! The ids of teams, which the members of a parent agree on.
//!
//! The members must agree on ids that are free on all of them, and on a count from which the epochs of the new teams go
//! on: past every value that a flag in their slots may show. One synchronisation of the parent does both
//! ([`Group::combine_words`]): it unites the bitmaps of used ids, a block of them at a time, and finds the greatest
//! count at which any member has left any team. Meanwhile no other thread of a future member splits a team, so that
//! what it has said stays true. If one does already, the split of the team with the smaller id has precedence: the
//! other says that it is busy, and all its members try again.
//!
//! The first call on an active set has no team to synchronise by, but a work array, by which members publish
//! single values. Between two synchronisations, all members read the same bitmaps and choose the same lowest free
//! id; then they claim it. Each publishes whether its claim succeeded, since another thread may claim the
//! same id for another set, and if one failed, all members try again.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_core::constants::PREDEFINED_TEAMS;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::{Group, Words};
use ferroshmem_core::job::mailboxes;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{IdLock, Teams};
use ferroshmem_layout::{ACTIVE_SETS, MAX_TEAMS, StatusArea, TeamIds};

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
pub(crate) const FAILED: u64 = 1 << 62;

/// Most teams that a call makes.
pub(crate) const MOST: usize = 2;

/// What one member needs to take part in a split.
pub(crate) struct Claim<'a> {
    /// Id of the parent.
    pub(crate) parent: usize,
    /// The ids that this PE uses.
    pub(crate) used: &'a TeamIds,
    /// The greatest count of epochs at which it has left a team.
    pub(crate) epochs: &'a AtomicU64,
    /// Kept while other threads of this PE must not claim ids.
    pub(crate) splitting: &'a AtomicU32,
    /// Where to begin: the same on all members.
    pub(crate) block: usize,
    /// Number of ids to claim.
    pub(crate) wanted: usize,
    /// Whether this PE will be a member of the new teams.
    pub(crate) is_member: bool,
    /// Whether a PE of the job has failed.
    pub(crate) has_failures: bool,
}

/// Ids that the members of a parent have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claimed {
    pub(crate) ids: [usize; MOST],
    /// Count at which the epochs of the new teams begin.
    pub(crate) epochs: u64,
    /// Where the last id was found.
    pub(crate) block: usize,
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
    pub(crate) fn agree(&self, group: &Group<'_>) -> Option<Claimed> {
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
pub(crate) fn claim_id(node: &Node, parent: &Group<'_>, ids: Range<usize>) -> Option<usize> {
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
