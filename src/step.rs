//! Collective steps: all PEs of a team meet, and look whether all are about the same.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ferroshmem_core::api::constants::TEAM_WORLD;
use ferroshmem_core::api::{agree, setup};

use crate::memory::complete;

/// Steps taken by the world.
static TAKEN: AtomicU32 = AtomicU32::new(0);

macro_rules! steps {
    ($($step:ident = $name:literal),* $(,)?) => {
        /// What a step is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Step {
            $(#[doc = $name] $step),*
        }

        const STEPS: &[Step] = &[$(Step::$step),*];

        impl Step {
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$step => $name),*
                }
            }
        }
    };
}

steps! {
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
    Destroy = "drop of a Team",
    Broadcast = "Team::broadcast",
    Reduce = "Team::reduce",
    Scan = "Team::scan",
    Collect = "Team::collect",
    Fcollect = "Team::fcollect",
    Alltoall = "Team::alltoall",
    Alltoalls = "Team::alltoalls",
}

impl Step {
    /// Whether it is made by a drop, which comes on the way out of a function, too.
    fn is_drop(self) -> bool {
        matches!(self, Self::Free | Self::Destroy)
    }
}

/// A PE's word for a step: what it is about, how many steps came before, and a digest of the
/// details.
fn word(step: Step, taken: u32, details: &[u64]) -> u64 {
    let mix = |sum: u64, value: &u64| {
        // The finaliser of SplitMix64 spreads each bit over all.
        let mut x = (sum ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let digest = details.iter().fold(u64::from(taken), mix);
    // One above the place: a PE that never said anything has said 0.
    (step as u64 + 1) << 56 | u64::from(taken & 0xffff) << 40 | digest >> 24
}

/// A step of the world.
pub(crate) fn of_world(step: Step, details: &[u64]) {
    // They are about arrays, of which nothing is under way after one.
    complete(step.name());
    of_team(TEAM_WORLD, &TAKEN, step, details);
}

/// What a drop found. The PE may be on its way out of `main` with an error that it has not told
/// yet, so this is told by its next step, or when the process ends.
static PARTED: OnceLock<(&'static str, String)> = OnceLock::new();

/// Before it tells of a PE that leaves, a PE gives that one so long to say why it does.
const GRACE: Duration = Duration::from_secs(1);

/// Meets the other members of a team; what all wrote before it is seen by all after it. Ends the
/// job if another member is about something else, or about the same with other `details`.
///
/// A drop comes back; then the others are elsewhere, and so are they for all drops after it.
pub(crate) fn of_team(team: usize, taken: &AtomicU32, step: Step, details: &[u64]) {
    if let Some((name, found)) = PARTED.get() {
        match step.is_drop() {
            true => return,
            false => setup::misuse(name, found),
        }
    }
    let number = taken.load(Relaxed).wrapping_add(1);
    taken.store(number, Relaxed);
    let said = word(step, number, details);
    if let Err(other) = agree::agree(step.name(), team, said) {
        differ(step, said, other);
    }
}

#[cold]
fn differ(step: Step, mine: u64, other: agree::Difference) {
    let agree::Difference { pe, said } = other;
    let theirs = (said >> 56)
        .checked_sub(1)
        .and_then(|place| STEPS.get(place as usize));
    let in_step = (said ^ mine) >> 40 & 0xffff == 0;
    let (leaves, found) = match theirs {
        Some(theirs) if in_step && *theirs != step => (
            theirs.is_drop(),
            format!(
                "PE {pe} calls {} at this point: all PEs must make the same collective calls in the same order",
                theirs.name()
            ),
        ),
        Some(_) if in_step => (
            false,
            format!("PE {pe} calls it with another array, length, type, operator or root"),
        ),
        _ => (
            true,
            format!(
                "PE {pe} is elsewhere: it has dropped its World, as when its main returns early, or is in a C routine that synchronises"
            ),
        ),
    };
    if step.is_drop() {
        // One thread makes the steps.
        let _ = PARTED.set((step.name(), found));
        return;
    }
    if leaves {
        thread::sleep(GRACE);
    }
    setup::misuse(step.name(), found)
}

/// Whether a drop found the other PEs elsewhere: nobody will meet this one any more.
pub(crate) fn has_parted() -> bool {
    PARTED.get().is_some()
}

/// Has what a drop found told when the process ends, if this PE has parted from the others.
pub(crate) fn tell_at_exit() {
    if let Some((name, found)) = PARTED.get() {
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
    fn words_tell_steps_numbers_and_details_apart() {
        let base = word(Step::Reduce, 7, &[1, 2]);
        assert_eq!(base, word(Step::Reduce, 7, &[1, 2]));
        for other in [
            word(Step::Scan, 7, &[1, 2]),
            word(Step::Reduce, 8, &[1, 2]),
            word(Step::Reduce, 7, &[2, 1]),
            word(Step::Reduce, 7, &[1]),
            0,
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(STEPS[(base >> 56) as usize - 1], Step::Reduce);
    }
}
