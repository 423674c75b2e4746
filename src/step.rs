//! Collective steps: all PEs of a team synchronise, and compare which call each of them makes.

use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ferroshmem_api::check::Concerns;
use ferroshmem_api::constants::TEAM_WORLD;
use ferroshmem_api::record::{self, Kind};
use ferroshmem_api::{agree, resilience, setup};

use crate::error::GroupFailed;
use crate::order::quiet_all;

/// Steps taken by the world.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// Declares an enum whose variants have names.
macro_rules! named {
    ($(#[$of_type:meta])* enum $type:ident { $($(#[$of_variant:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$of_type])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum $type {
            $($(#[$of_variant])* $variant,)*
        }

        impl $type {
            const ALL: &[Self] = &[$(Self::$variant),*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

named! {
    /// The call that a step belongs to.
    enum Step {
        Barrier = "Team::barrier",
        Alloc = "allocation",
        Free = "drop of an array",
        Keep = "Symmetric::keep",
        Share = "Symmetric::share",
        Reclaim = "Shared::reclaim",
        Open = "Symmetric::open",
        Close = "Window::close",
        Atomics = "Symmetric::into_atomics",
        IntoInner = "Atomics::into_inner",
        Split = "Team::split_strided",
        Split2d = "Team::split_2d",
        SplitByColor = "Team::split",
        SplitByKind = "Team::split_by_kind",
        Destroy = "drop of a Team",
        Stream = "Team::stream",
        ResetStream = "Stream::reset",
        EndStream = "drop of a Stream",
        Space = "World::space",
        EndSpace = "drop of a Space",
        Spawn = "Team::spawn",
        Accept = "Team::accept",
        Connect = "Team::connect",
        Join = "Team::join",
        Export = "World::export",
        EndExport = "drop of an Exported",
        Broadcast = "Team::broadcast",
        Reduce = "Team::reduce",
        Scan = "Team::scan",
        Collect = "Team::collect",
        Fcollect = "Team::fcollect",
        Alltoall = "Team::alltoall",
        Alltoalls = "Team::alltoalls",
        Gather = "Team::gather",
        Scatter = "Team::scatter",
        ReduceRoot = "Team::reduce_root",
        ReduceScatter = "Team::reduce_scatter",
    }
}

impl Step {
    /// What it is in a profile: in all, the members wait for the last one.
    fn kind(self) -> Kind {
        match self {
            Self::Alloc => Kind::Allocate,
            Self::Free => Kind::Free,
            Self::Broadcast
            | Self::Reduce
            | Self::Scan
            | Self::Collect
            | Self::Fcollect
            | Self::Alltoall
            | Self::Alltoalls
            | Self::Gather
            | Self::Scatter
            | Self::ReduceRoot
            | Self::ReduceScatter => Kind::Exchange,
            _ => Kind::Barrier,
        }
    }

    /// Whether a drop makes the step: drops also run when a function returns early.
    fn is_drop(self) -> bool {
        matches!(self, Self::Free | Self::Destroy | Self::EndStream | Self::EndSpace | Self::EndExport)
    }
}

/// The word that a PE contributes to a step: the call, the number of steps before, and a digest of the
/// call's details.
pub(crate) fn word(step: Step, taken: u32, details: &[Detail]) -> u64 {
    let mix = |sum: u64, (_, value): &Detail| {
        // The finaliser of SplitMix64 spreads each bit over all.
        let mut x = (sum ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let digest = details.iter().fold(u64::from(taken), mix);
    // The index plus one: 0 is the word of a PE that has taken no step.
    (step as u64 + 1) << 56 | u64::from(taken & 0xffff) << 40 | digest >> 24
}

named! {
    /// What the members' calls of one step must have in common, in the order in which members look for what differs.
    enum What {
        /// A number of elements.
        Length = "length",
        /// The type of the elements.
        Type = "type",
        /// The operator of a reduction, or the kind of a scan.
        Operator = "operator",
        /// The root.
        Root = "root",
        /// The strides between elements or blocks.
        Strides = "stride",
        /// The members of the new team.
        Members = "set of members",
        /// The way of opening or closing an array.
        Sharing = "way of sharing the array",
        /// The name of an exported array.
        Name = "name",
        /// When items of a stream are sent.
        Pace = "pace",
        /// The array.
        Array = "array",
    }
}

/// One of these of a call.
pub(crate) type Detail = (What, u64);

/// A step of the world.
#[track_caller]
pub(crate) fn of_world(step: Step, details: &[Detail]) {
    // The step may change an array's type: no operation on its elements may be under way then.
    quiet_all(step.name());
    of_team(TEAM_WORLD, &TAKEN, step, details);
    // The PEs have not synchronised then, and may still use the memory otherwise.
    assert!(!has_failed() || step.is_drop(), "{GroupFailed}");
}

/// Whether a PE of the world has failed, in a resilient job: the PEs do not synchronise any more.
pub(crate) fn has_failed() -> bool {
    resilience::is_on() && agree::has_failed("World", TEAM_WORLD)
}

/// The mismatch that a drop has found: routine and message. `main` may be returning an error that is
/// still to be printed, so the mismatch is reported by this PE's next step, or when the process exits.
static DIVERGED: OnceLock<(&'static str, String)> = OnceLock::new();

/// Time that a PE which has left gets to print its reason before another PE reports that it left.
const GRACE: Duration = Duration::from_secs(1);

/// Synchronises with the other members of a team: after it, all see what each wrote before. Ends the
/// job if another member makes a different call, or the same with other `details`.
///
/// A drop that finds a difference returns: it may run because `main` returns early. From then on this PE
/// has diverged, and later drops do not synchronise.
#[track_caller]
pub(crate) fn of_team(team: usize, taken: &AtomicU32, step: Step, details: &[Detail]) {
    if let Some((name, found)) = DIVERGED.get() {
        match step.is_drop() {
            true => return,
            false => setup::misuse(name, found),
        }
    }
    let number = taken.load(Relaxed).wrapping_add(1);
    taken.store(number, Relaxed);
    let mine = word(step, number, details);
    let _record = record::begin((step.name(), Location::caller()), step.kind(), Concerns::Team(team, 0), 0, 0);
    if let Err(other) = agree::agree(step.name(), team, mine) {
        differ(team, (step, number, mine), details, &other, Location::caller());
    }
}

/// Whether two words are of the same step, whatever its details.
fn is_same_step(a: u64, b: u64) -> bool {
    (a ^ b) >> 40 == 0
}

/// What members that all make this step have not in common. All of them call this, and compare the
/// same in the same order, whatever details each has.
fn first_difference(team: usize, step: Step, taken: u32, details: &[Detail]) -> Option<What> {
    let differs = |what: &What| {
        let of_what = details.iter().filter(|(of, _)| of == what).copied();
        let of_what: Vec<Detail> = of_what.collect();
        let number = taken.wrapping_add(1 + *what as u32);
        agree::agree(step.name(), team, word(step, number, &of_what)).is_err()
    };
    What::ALL.iter().copied().find(differs)
}

#[cold]
fn differ(
    team: usize,
    (step, number, mine): (Step, u32, u64),
    details: &[Detail],
    other: &agree::Difference,
    caller: &Location<'_>,
) {
    let (pe, word) = (other.pe, other.word);
    let theirs = (word >> 56).checked_sub(1).and_then(|place| Step::ALL.get(place as usize));
    let same_step = (word ^ mine) >> 40 & 0xffff == 0;
    let all_here = other.all.iter().all(|word| is_same_step(*word, mine));
    let (left, found) = match theirs {
        Some(theirs) if same_step && *theirs != step => (
            theirs.is_drop(),
            format!(
                "PE {pe} calls {} at this point: all PEs must make the same collective calls in the same order",
                theirs.name()
            ),
        ),
        Some(_) if same_step => {
            let differing = all_here.then(|| first_difference(team, step, number, details));
            let what = differing.flatten().map_or("array, length, type, operator or root", What::name);
            (false, format!("PE {pe} calls it with another {what}: all PEs must give the same"))
        }
        _ => (
            true,
            format!(
                "PE {pe} is elsewhere: it has dropped its World, as when its main returns early, or is in a C routine \
                    that synchronises"
            ),
        ),
    };
    if step.is_drop() {
        // The caller is the drop's own code.
        let found =
            format!("{found}; it is dropped where it goes out of scope, perhaps by ? or return on this PE alone");
        // Only one thread makes steps, so the cell is empty.
        let _ = DIVERGED.set((step.name(), found));
        return;
    }
    if left {
        thread::sleep(GRACE);
    }
    setup::misuse(step.name(), format!("{found}; called at {caller}"))
}

/// Whether a drop has found a difference: no other PE will synchronise with this one any more.
pub(crate) fn has_diverged() -> bool {
    DIVERGED.get().is_some()
}

/// If this PE has diverged, has the difference reported when the process exits.
pub(crate) fn report_at_exit() {
    if let Some((name, found)) = DIVERGED.get() {
        setup::misuse_at_exit(name, found);
    }
}

/// The steps that the world has taken, for its team.
pub(crate) fn taken_by_world() -> &'static AtomicU32 {
    &TAKEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_by_step_number_and_details() {
        let (a, b) = ((What::Length, 1), (What::Type, 2));
        let base = word(Step::Reduce, 7, &[a, b]);
        assert_eq!(base, word(Step::Reduce, 7, &[a, b]));
        for other in [
            word(Step::Scan, 7, &[a, b]),
            word(Step::Reduce, 8, &[a, b]),
            word(Step::Reduce, 7, &[b, a]),
            word(Step::Reduce, 7, &[a]),
            0,
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(Step::ALL[(base >> 56) as usize - 1], Step::Reduce);
        assert!(is_same_step(base, word(Step::Reduce, 7, &[b])));
        assert!(!is_same_step(base, word(Step::Reduce, 8, &[a, b])));
    }
}
