//! One team's words and buffers on one PE.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

use ferroshmem_tuning::{EAGER, FLAG_BYTES, RING_BYTES, RING_ENTRIES, SHORT_RING_ENTRIES};

use crate::MAX_PES;

/// Flags of a [`TeamSlot`] per epoch: two per round of an algorithm with log2(`MAX_PES`)
/// rounds, and two.
pub const FLAGS: usize = 2 * MAX_PES.ilog2() as usize + 2;

/// Bytes that the members of a central barrier give to the last to arrive, and it to them.
pub const SMALL: usize = 48;

/// One team's words and buffers on one PE. No cache line has two kinds of writers, whether lines have 64, 128 or 256
/// bytes.
///
/// Flags and eager buffers exist twice, for even and odd epochs. An epoch is completed only
/// after all members have entered it, so a member that writes for epoch e + 2 knows that all
/// have left epoch e.
#[repr(C, align(4096))]
pub struct TeamSlot {
    /// Written by the owner: what it does in the team.
    pub own: OwnLine,
    /// Written by the owner: a value for the others, for even and odd epochs.
    pub published: PublishedLine,
    /// Written by the owner, on the first PE of the team on the node: where the node's PEs share their table.
    pub table: TableLine,
    /// On the team's first PE: the arrivals at the central barrier, and the tasks there.
    pub gathering: GatheringLine,
    /// On the team's first PE: the release of the central barrier.
    pub release: ReleaseLine,
    /// Written by the other members.
    flags: [[FlagLine; 2]; FLAGS],
    /// What the owner lets the other members read.
    pub eager: [EagerBuffer; 2],
    /// The owner's side of small broadcasts and scans.
    pub ring: RingPages,
}

impl TeamSlot {
    /// A flag, with a small value, for even or odd epochs.
    ///
    /// Both share a line of 128 bytes, as the same member mostly posts both. A line of 256 bytes also has the flag that
    /// is `FLAGS / 2` away: of the two flags of a round one partner posts both, and other algorithms use only one half
    /// of the flags.
    #[inline]
    pub fn flag(&self, parity: usize, flag: usize) -> &FlagLine {
        const HALF: usize = FLAGS / 2;
        let pair = if flag < HALF { 2 * flag } else { 2 * (flag - HALF) + 1 };
        &self.flags[pair][parity]
    }
}

impl fmt::Debug for TeamSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamSlot").finish_non_exhaustive()
    }
}

/// One PE's side of the rings of small broadcasts and scans of a team (`group/ring.rs`).
#[repr(C, align(4096))]
pub struct RingPages {
    /// How many of them the owner has taken part in: a futex word, for members that wait for room.
    pub taken: TakenLine,
    /// What the owner sent, call b in entry b mod [`RING_ENTRIES`].
    pub entries: [RingEntry; RING_ENTRIES],
    /// The same of at most [`FLAG_BYTES`], call b in entry b mod [`SHORT_RING_ENTRIES`].
    pub short: ShortRing,
}

/// A page of short entries.
#[repr(C, align(4096))]
pub struct ShortRing(pub [FlagLine; SHORT_RING_ENTRIES]);

/// A counter alone on its cache line.
#[repr(C, align(64))]
pub struct TakenLine {
    /// The counter.
    pub count: AtomicU32,
}

/// A value for other members: the number of its call, and what is sent.
#[repr(C, align(64))]
pub struct RingEntry {
    /// Number of the broadcast: a futex word.
    pub flag: AtomicU32,
    /// What is sent.
    pub value: RingValue,
}

/// [`RING_BYTES`] bytes.
#[repr(C, align(8))]
pub struct RingValue(pub UnsafeCell<[u8; RING_BYTES]>);

// SAFETY: as for `FlagValue`.
unsafe impl Sync for RingValue {}

/// A flag alone on its cache line, with a value from its poster.
#[repr(C, align(64))]
pub struct FlagLine {
    /// The flag: a futex word.
    pub flag: AtomicU32,
    /// The value, written before the flag is posted and read after.
    pub value: FlagValue,
}

/// [`FLAG_BYTES`] bytes.
#[repr(C, align(8))]
pub struct FlagValue(pub UnsafeCell<[u8; FLAG_BYTES]>);

// SAFETY: a place in shared memory that is only accessed through raw pointers, in the order
// that the flag beside it gives.
unsafe impl Sync for FlagValue {}

/// [`EAGER`] bytes.
#[repr(C, align(64))]
pub struct EagerBuffer(pub UnsafeCell<[u8; EAGER]>);

// SAFETY: as for `FlagValue`, in the order of the team's synchronisation.
unsafe impl Sync for EagerBuffer {}

/// Words that the owner of a slot publishes to the team.
#[repr(C, align(64))]
pub struct OwnLine {
    /// Number of collectives that this PE has entered on the team.
    pub entered: AtomicU32,
    /// Synchronisations done in this slot, by all teams that have used it.
    pub epoch: AtomicU32,
    /// Digest of the arguments of the collective entered last (`SHMEM_CHECK=1`).
    pub call: [AtomicU64; 6],
    /// The owner's part of an agreement of a resilient job: its number, and the value.
    pub contribution: AtomicU64,
}

/// A word for the other members (element counts of `collect`, ids of new teams).
#[repr(C, align(64))]
pub struct PublishedLine {
    /// The word, for even and odd epochs.
    pub value: [AtomicU64; 2],
    /// The owner's contribution for the last member to arrive at the central barrier.
    pub contribution: SmallValue,
}

/// [`SMALL`] bytes.
#[repr(C, align(16))]
pub struct SmallValue(pub UnsafeCell<[u8; SMALL]>);

// SAFETY: as for `FlagValue`, in the order of the central barrier.
unsafe impl Sync for SmallValue {}

/// Where the members on the node have the numbers of a list of PEs.
#[repr(C, align(64))]
pub struct TableLine {
    /// The page of the owner's area for streams, and one; 0 if each member has a table of its own.
    pub page: AtomicU32,
}

/// Counters of the central barrier.
#[repr(C, align(256))]
pub struct GatheringLine {
    /// Members that have arrived.
    pub arrivals: AtomicU32,
    /// The next task to take.
    pub next: AtomicU32,
    /// Tasks done.
    pub done: AtomicU32,
    /// What the first member to arrive says of its call: the number of the epoch, and a digest.
    pub call: AtomicU64,
    /// The words of the members that have arrived, combined; zero between barriers.
    pub combined: [AtomicU64; 4],
    /// In a resilient job: the last agreement, with its number.
    pub agreed: AtomicU64,
    /// In a resilient job: 1 once a member has revoked the team.
    pub revoked: AtomicU32,
}

/// Flags of the central barrier: futex words that show an epoch.
#[repr(C, align(256))]
pub struct ReleaseLine {
    /// All have arrived.
    pub arrived: AtomicU32,
    /// All tasks are done.
    pub finished: AtomicU32,
    /// The result that the last member to arrive leaves for all.
    pub result: SmallValue,
}

const _: () = {
    assert!(size_of::<FlagLine>() == 64);
    assert!(size_of::<PublishedLine>() == 64);
    assert!(size_of::<ReleaseLine>() == 256);
    assert!(size_of::<GatheringLine>() == 256);
    // A PE that starts touches the first page alone.
    assert!(offset_of!(TeamSlot, eager) == 4096);
    assert!(size_of::<RingEntry>() == 448);
    assert!(size_of::<TeamSlot>() == 16_384);
};

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::ptr;

    use super::*;

    #[test]
    fn kinds_of_writers_share_no_line() {
        // SAFETY: zero bytes are a valid slot.
        let slot = unsafe { Box::<TeamSlot>::new_zeroed().assume_init() };
        let flag = |flag, parity| ptr::from_ref(slot.flag(parity, flag)).addr() - ptr::from_ref(&*slot).addr();
        let own = [offset_of!(TeamSlot, own), offset_of!(TeamSlot, published), offset_of!(TeamSlot, table)].to_vec();
        let central = [offset_of!(TeamSlot, gathering), offset_of!(TeamSlot, release)];
        for (line, kinds_of_flags) in [(64, FLAGS), (128, FLAGS), (256, FLAGS / 2)] {
            let mut kinds = vec![own.clone(), vec![central[0]], vec![central[1]]];
            kinds.resize(3 + kinds_of_flags, Vec::new());
            (0..FLAGS).for_each(|f| kinds[3 + f % kinds_of_flags].extend([flag(f, 0), flag(f, 1)]));
            let (mut kind_of_line, mut places) = (HashMap::new(), HashSet::new());
            for (kind, place) in kinds.iter().enumerate().flat_map(|(kind, all)| all.iter().map(move |p| (kind, p))) {
                assert!(place % 64 == 0 && places.insert(place), "{place} is used twice");
                assert_eq!(*kind_of_line.entry(place / line).or_insert(kind), kind, "{place}, lines of {line} bytes");
            }
        }
    }
}
