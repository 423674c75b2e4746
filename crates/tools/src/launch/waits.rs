//! What the PEs wait for, as they record it in the job's memory.

use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::region::{PeState, WaitKind};
use nix::time::{ClockId, clock_gettime};

/// One PE's wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait {
    /// Differs between two waits of the PE.
    pub serial: u32,
    /// C name of the routine.
    pub routine: String,
    /// What the PE waits for.
    pub reason: WaitReason,
    /// Start, in milliseconds of `CLOCK_MONOTONIC`.
    pub since_ms: u64,
}

/// What a PE waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// The others in a collective.
    Collective {
        /// Id of the team, if it is one and not an active set.
        team: Option<u32>,
        /// First world PE.
        start: i32,
        /// Distance between members.
        stride: i32,
        /// Number of members.
        size: u32,
        /// The collective's number on the team.
        sequence: u32,
    },
    /// A word of memory: the kind of object, and its address in the waiting PE.
    Object(&'static str, u64),
}

impl Wait {
    /// Reads PE `pe`'s record; `None` while the PE waits for nothing, or is changing the record.
    pub(super) fn read(control: &Control, pe: usize) -> Option<Self> {
        let record = &control.pe_block(pe).wait;
        let serial = record.serial.load(Acquire);
        let team = record.team.load(Relaxed);
        let collective = |team| WaitReason::Collective {
            team,
            start: record.start.load(Relaxed),
            stride: record.stride.load(Relaxed),
            size: record.size.load(Relaxed),
            sequence: record.sequence.load(Relaxed),
        };
        let object = |kind| WaitReason::Object(kind, record.address.load(Relaxed));
        let reason = match record.kind.load(Acquire) {
            k if k == WaitKind::Team as u32 => collective(Some(team)),
            k if k == WaitKind::ActiveSet as u32 => collective(None),
            k if k == WaitKind::Point as u32 => object("the variable"),
            k if k == WaitKind::Lock as u32 => object("the lock"),
            k if k == WaitKind::Signal as u32 => object("the signal"),
            _ => return None,
        };
        let wait = Self {
            serial,
            routine: record.routine(),
            reason,
            since_ms: record.since_ms.load(Relaxed),
        };
        (record.serial.load(Acquire) == serial).then_some(wait)
    }

    /// Whether PE `pe` is one of those that this wait needs.
    pub(super) fn needs(&self, pe: usize) -> bool {
        let WaitReason::Collective {
            start,
            stride,
            size,
            ..
        } = self.reason
        else {
            return false;
        };
        let distance = pe as i64 - i64::from(start);
        let stride = i64::from(stride);
        let index = match stride {
            0 => return distance == 0,
            _ if distance % stride != 0 => return false,
            _ => distance / stride,
        };
        (0..i64::from(size)).contains(&index)
    }

    /// What the PE waits for, and where.
    pub(super) fn place(&self) -> Place<'_> {
        Place(self)
    }

    /// How long it has lasted, in seconds.
    fn seconds(&self) -> f64 {
        now_ms().saturating_sub(self.since_ms) as f64 / 1000.0
    }
}

fn now_ms() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| {
        t.tv_sec() as u64 * 1000 + t.tv_nsec() as u64 / 1_000_000
    })
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waits {} since {:.1} s", self.place(), self.seconds())
    }
}

/// Routine and object of a wait: `in shmem_team_sync on team 3 (start 0, stride 1, size 2)`.
pub(super) struct Place<'a>(&'a Wait);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {}", self.0.routine)?;
        match self.0.reason {
            WaitReason::Collective { team: Some(0), .. } => write!(f, " on the world team")?,
            WaitReason::Collective {
                team,
                start,
                stride,
                size,
                ..
            } => {
                match team {
                    Some(id) => write!(f, " on team {id}")?,
                    None => write!(f, " on an active set")?,
                }
                write!(f, " (start {start}, stride {stride}, size {size})")?;
            }
            WaitReason::Object(kind, address) => write!(f, " for {kind} at {address:#x}")?,
        }
        Ok(())
    }
}

/// The hang report: a line for each of `alive` that waits, and one for those that do not.
pub(super) fn report(control: &Control, alive: impl Iterator<Item = usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut running, mut outside) = (Vec::new(), Vec::new());
    for pe in alive {
        let state = PeState::from_word(control.pe_block(pe).state.load(Acquire));
        match Wait::read(control, pe) {
            Some(wait) => lines.push(format!("PE {pe} {wait}")),
            None if state == PeState::Started => outside.push(pe),
            None => running.push(pe),
        }
    }
    if !running.is_empty() {
        lines.push(format!("{} waiting for nothing", subject(&running)));
    }
    if !outside.is_empty() {
        lines.push(format!("{} not in shmem_init yet", subject(&outside)));
    }
    lines
}

/// `PE 3 is`, or `PEs 0-2, 5 are`.
fn subject(pes: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &pe in pes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == pe => *last = pe,
            _ => ranges.push((pe, pe)),
        }
    }
    let shown = ranges.iter().map(|(a, b)| {
        if a == b {
            a.to_string()
        } else {
            format!("{a}-{b}")
        }
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if pes.len() == 1 {
        format!("PE {shown} is")
    } else {
        format!("PEs {shown} are")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members() {
        let wait = |start, stride, size| Wait {
            serial: 0,
            routine: String::new(),
            reason: WaitReason::Collective {
                team: Some(1),
                start,
                stride,
                size,
                sequence: 0,
            },
            since_ms: 0,
        };
        let members = |w: Wait| (0..10).filter(|pe| w.needs(*pe)).collect::<Vec<_>>();
        assert_eq!(members(wait(1, 3, 3)), [1, 4, 7]);
        assert_eq!(members(wait(8, -2, 3)), [4, 6, 8]);
        assert_eq!(members(wait(5, 0, 1)), [5]);
        assert_eq!(members(wait(0, 1, 4)), [0, 1, 2, 3]);
    }

    #[test]
    fn subjects() {
        assert_eq!(subject(&[3]), "PE 3 is");
        assert_eq!(subject(&[0, 1, 2, 5, 7, 8]), "PEs 0-2, 5, 7-8 are");
    }
}
